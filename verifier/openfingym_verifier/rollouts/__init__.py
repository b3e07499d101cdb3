"""Rollouts from their creation to their results, and the services that play them."""
