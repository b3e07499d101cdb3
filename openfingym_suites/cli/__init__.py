"""Commands of the suites, which the library adds to its own, and the report on seasons for people."""
