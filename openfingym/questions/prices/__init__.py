"""Prices at a time, one module for each service that the provider ``price`` asks."""
