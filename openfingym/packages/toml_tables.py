"""Other values for keys of a TOML file, whose text is otherwise left as its author wrote it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from openfingym.packages.scaffold import toml_value


def split_tables(text: str) -> list[tuple[str, str]]:
    """The name and the text of each table, with its header; what comes before the first has the name ``""``."""
    return [(block.partition("]")[0].strip("[ ") if block.startswith("[") else "", block) for block in _blocks(text)]


def with_values(block: str, changes: Mapping[str, str | None], *, add: bool = False) -> str:
    """A table with other values.

    Args:
        block: text of the table, with its header.
        changes: values as TOML by their keys; None for a key that goes.
        add: whether a key that is not there is added; else it is passed over.
    """
    for key, value in changes.items():
        line = "" if value is None else f"{key} = {value}\n"
        value_of_any_form = r"(?:\[[^\]]*\]|\"\"\".*?\"\"\"|[^\n]*)"
        found = re.search(rf"(?ms)^{key}[ \t]*=[ \t]*{value_of_any_form}[^\n]*\n", block)
        if found is not None:
            block = block[: found.start()] + line + block[found.end() :]
        elif add:
            header, _, rest = block.partition("\n")
            block = f"{header}\n{line}{rest}"
    return block


def toml_of(value: object) -> str:
    """A plain value as TOML.

    Raises:
        TypeError: it is neither a truth value, a number nor a text, nor a list of these.
    """
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    if isinstance(value, str):
        return toml_value(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(toml_of(one) for one in value)}]"
    raise TypeError(f"{value!r} cannot stand in a TOML file")


def _blocks(text: str) -> list[str]:
    return re.split(r"(?m)^(?=\[)", text)
