"""Checks that prove a task sound: what ``openfingym task check`` runs."""
