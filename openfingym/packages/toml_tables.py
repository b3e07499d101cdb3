"""Changing values in the text of a TOML file, with comments and layout left as its author wrote them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from openfingym.packages.scaffold import toml_value


def split_tables(text: str) -> list[tuple[str, str]]:
    """The name and the text of each table, with its header; what comes before the first table has the name ``""``."""
    return [(block.partition("]")[0].strip("[ ") if block.startswith("[") else "", block) for block in _blocks(text)]


def with_values(block: str, changes: Mapping[str, str | None], *, add: bool = False) -> str:
    """The text of a table with other values for some of its keys.

    Args:
        block: text of the table, with its header.
        changes: the new values by key, each as TOML text; None for a key that is removed.
        add: whether a key that the table lacks is added; otherwise it is passed over.
    """
    for key, value in changes.items():
        line = "" if value is None else f"{key} = {value}\n"
        # An array may span lines, as may a text in three quotes; every other value ends with its line.
        value_of_any_form = r"(?:\[[^\]]*\]|\"\"\".*?\"\"\"|[^\n]*)"
        match = re.search(rf"(?ms)^{key}[ \t]*=[ \t]*{value_of_any_form}[^\n]*\n", block)
        if match is not None:
            block = block[: match.start()] + line + block[match.end() :]
        elif add:
            header, _, rest = block.partition("\n")
            block = f"{header}\n{line}{rest}"
    return block


def toml_of(value: object) -> str:
    """A plain value as TOML.

    Raises:
        TypeError: the value is neither a boolean, a finite number nor a text, nor a list of these.
    """
    # JSON and TOML write these alike.
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    if isinstance(value, str):
        return toml_value(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(toml_of(item) for item in value)}]"
    raise TypeError(f"{value!r} cannot stand in a TOML file")


def _blocks(text: str) -> list[str]:
    # Entries of an array on lines of their own are indented, so a bracket at the start of a line is a table's header.
    return re.split(r"(?m)^(?=\[)", text)
