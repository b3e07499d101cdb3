"""Plots of a task's data for its author; one module for each form of data. They hold hidden values."""

from __future__ import annotations
