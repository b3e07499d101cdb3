"""Runs agents' programs in isolation: the backends, their images, and the gate that leads to the verifier."""
