"""Starts agents in isolation: gates, backends, images."""
