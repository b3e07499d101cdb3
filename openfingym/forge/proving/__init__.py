"""Proofs: what a forged task has to stand before anyone runs it, and its installation.

It is checked, attacked, run through gate and verifier, and its baselines must be better than noise.
"""
