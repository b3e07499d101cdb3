"""Proofs: what a forged task has to stand before anyone runs it, and its installation.

The task is checked, attacked, and run through gate and verifier; some of its baselines must be better than noise.
"""
