"""Scores under the protocols that papers published, to be set beside the papers' own figures.

A protocol is a file in ``protocols/``: which metrics, on how many windows, with what network, and how often repeated.
Its scores are not verified: they rank nothing, reach no result, report or agent, and are computed where the hidden data
is, by whoever holds it. The verifier, the gate and the launcher import nothing from here.
"""
