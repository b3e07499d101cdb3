"""The gate: the only way out of a container, to the verifier and nothing else."""
