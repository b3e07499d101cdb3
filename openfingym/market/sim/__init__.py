"""Local venues for development and tests: simulated exchanges behind servers that speak real venues' protocols.

Nothing here is a real market: prices come from a seeded simulation or a recorded tape, and every server says so.
"""
