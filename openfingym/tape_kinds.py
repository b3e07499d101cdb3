"""Tapes by name: which hidden data a rollout has. :mod:`openfingym.tapes` says what each is, and makes them."""

from __future__ import annotations

from typing import Literal

TapeKind = Literal["given", "fresh", "twin"]
"""The package's own hidden data, data drawn for the rollout, or bars resampled from real ones."""
TapePolicy = Literal["given", "fresh"]
"""What a verifier gives where nobody asks: the package's own hidden data, or other data for each rollout where there can be."""
