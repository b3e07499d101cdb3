"""Adapters of venues: each reads and writes the protocol of one venue, and does no input or output."""
