"""``data/provenance.json``: where a candidate's data are from, and what of it goes into ``task.toml``."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from openfingym.files.whole import store_errors, write_json
from openfingym.forge.folder import UnreadableRecordError

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
    licence: str
    pass_on: bool
    """Whether the package may hold the data; else each user fetches them."""
    address: str = ""
    score: float = 1.0
    """Of the match, from 0 to 1."""
    why: list[str] = field(default_factory=list)
    reused_from: str = ""
    """Key of the paper whose data these are."""
    dataset: dict[str, object] = field(default_factory=dict)
    """Keys of ``[metadata.openfingym.dataset]``; ``file`` is a name in this folder."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 by name of a file in this folder."""
    rows: int | None = None

    def write(self, folder: Path) -> None:
        """Write it into a folder of data.

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
    if _FORBIDS.search(lower):
        return "forbids"
    return "allows" if _ALLOWS.search(lower) else "unknown"
