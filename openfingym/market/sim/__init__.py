"""Local venues for development and tests: simulated exchanges behind servers that speak real venues' protocols.

Nothing here is a market: prices come of a seeded simulation or of a recorded tape, and every server says so.
"""
