"""The questions of the suite: templates that draw them, and the programs that compute what is true."""
