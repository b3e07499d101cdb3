"""The providers of truth, one file each."""

from __future__ import annotations
