"""Scores under the protocols that papers published, to be set beside the papers' own figures.

A protocol is a file in ``protocols/``: which metrics, on how many windows, with what network, how many times over. Its
scores are no verified scores: they rank nothing, reach no result, report or agent, and are computed where the hidden
data lies, by whoever holds it. The verifier, the gate and the launcher import nothing from here.
"""
