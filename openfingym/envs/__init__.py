"""Gymnasium environments, one module a kind of task."""
