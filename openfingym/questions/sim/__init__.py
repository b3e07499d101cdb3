"""Simulated markets: what they show and how they end follows from a secret key, and can be computed for any time."""
