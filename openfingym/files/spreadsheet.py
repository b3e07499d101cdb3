"""Text for files that people open in a spreadsheet."""

from __future__ import annotations


def not_a_formula(text: str) -> str:
    """A text that a spreadsheet shows as it is, and does not run as a formula even if it begins like one."""
    # What a spreadsheet passes over before it looks for a formula.
    seen = text.lstrip("".join(map(chr, range(33))))
    # A dash alone, as tables have it for a value that is missing, is no formula.
    formula = seen[:1] in set("=+@＝＋＠") or (seen[:1] in set("-－") and len(seen) > 1)
    return f"'{text}" if formula or text[:1] in {"\t", "\r", "\n"} else text
