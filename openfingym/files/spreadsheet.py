"""Text for files that people open in a spreadsheet."""

from __future__ import annotations


def not_a_formula(text: str) -> str:
    """A text that a spreadsheet shows as it is, and does not run as a formula even if it begins like one."""
    # A dash alone, as tables have it for a value that is missing, is no formula.
    return f"'{text}" if text[:1] in {"=", "+", "@", "\t", "\r"} or (text[:1] == "-" and len(text) > 1) else text
