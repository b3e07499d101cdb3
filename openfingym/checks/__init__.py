"""Proving that a task is sound, which is `openfingym task check`."""
