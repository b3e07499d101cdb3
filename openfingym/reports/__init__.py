"""Reports over many rollouts: what was achieved, how surely, at what cost, and where it failed."""
