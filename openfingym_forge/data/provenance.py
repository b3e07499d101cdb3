"""The record of where a candidate's data are from, ``data/provenance.json``, and of what ``task.toml`` says of them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from openfingym.files.whole import store_errors, write_json
from openfingym_forge.folder import UnreadableRecordError

# Licences in the words of papers and publishers, in lower case.
_FORBIDS = re.compile(
    r"(no|not|never|without|prohibit\w*|forbid\w*)\b[^.;]{0,40}"
    r"\b(redistribut\w+|re-distribut\w+|passed on|pass on|shared?)"
    r"|redistribution[^.;]{0,30}\b(prohibited|forbidden|not)|proprietary|all rights reserved|internal use only"
    r"|for (?:your|their|his) own use, not for|non-?redistributable"
)
_ALLOWS = re.compile(
    r"public domain|cc0|cc[- ]by(?![- ]n[cd])|apache|mit\b|bsd|free re-?use|open (?:data|government)|odc|odbl"
    r"|re-use free|freely"
)


@dataclass(frozen=True)
class ForgeProvenance:
    """Where the data are from."""

    how: str
    """``bundled:NAME``, ``simulator:NAME``, ``specified:NAME``, ``pulled:NAME`` or ``script``."""
    source: str
    """Publisher or origin of the data, in words."""
    licence: str
    pass_on: bool
    """Whether the package may hold the data; otherwise each user fetches them."""
    address: str = ""
    """Address that the data were downloaded from, or their publisher's; empty for what the library brings."""
    score: float = 1.0
    """How well the data match the blueprint, from 0 to 1; 1 for a download."""
    why: list[str] = field(default_factory=list)
    """What speaks for the data; for a download, what each request was answered with."""
    reused_from: str = ""
    """Key of the paper that downloaded the data; empty where this one did."""
    dataset: dict[str, object] = field(default_factory=dict)
    """Keys and values of ``[metadata.openfingym.dataset]``; ``file`` is a name in this folder."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each file of this folder, by its name."""
    rows: int | None = None
    """Number of rows of the data; None where it is not known."""

    def write(self, folder: Path) -> None:
        """Write the record into a folder of data.

        Raises:
            StoreError: it cannot be written.
        """
        with store_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / "provenance.json", asdict(self))


_FORM = TypeAdapter(ForgeProvenance)


def read_provenance(folder: Path) -> ForgeProvenance | None:
    """The provenance in a folder of data; None where there is none.

    Raises:
        UnreadableRecordError: it is damaged.
    """
    path = folder / "provenance.json"
    if not path.exists():
        return None
    try:
        return _FORM.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        why = " ".join(str(error).split())[:300]
        raise UnreadableRecordError(f"{path}: cannot be read ({why}); {data_again(folder)}") from None


def data_again(folder: Path) -> str:
    """What a person does about a damaged folder of data."""
    return f"remove {folder.parent / 'data.json'} to have the stage `data` done again"


def licence_says(text: str) -> Literal["allows", "forbids", "unknown"]:
    """Whether a licence in words allows data to be passed on."""
    lower = text.lower()
    # First: "freely available, but no redistribution" has words of both.
    if _FORBIDS.search(lower):
        return "forbids"
    return "allows" if _ALLOWS.search(lower) else "unknown"
