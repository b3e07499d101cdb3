"""Prices at a time, from each service that the provider ``price`` asks."""
