"""Adapters of venues: each reads and writes the protocol of one, and does no input or output."""
