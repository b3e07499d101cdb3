"""Text for files that people open in a spreadsheet."""

from __future__ import annotations


def not_a_formula(text: str) -> str:
    """A name as a spreadsheet should show it: one that starts like a formula would be run."""
    return f"'{text}" if text[:1] in {"=", "+", "@", "\t", "\r"} or (text[:1] == "-" and len(text) > 1) else text
