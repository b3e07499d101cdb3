"""The answer key of a corpus: what the forge should find in each paper."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from openfingym.errors import UsageError


@dataclass(frozen=True)
class KeyPaper:
    """What should be found in one paper."""

    name: str
    """Name of the paper in the key."""
    file: str
    """Name of the paper's file in the corpus."""
    stage: str
    """The last stage that the paper should reach: ``install`` for one that should become a task."""
    state: str
    """How that stage should end."""
    codes: tuple[str, ...]
    """Codes of the reasons for which the paper should be refused."""
    contradictions: tuple[str, ...]
    """Fields in which the paper contradicts itself."""
    fields: Mapping[str, object]
    """Values of the blueprint's fields, by name."""
    metrics: tuple[Mapping[str, object], ...]
    """Each with ``name``, and ``direction`` and ``weight`` where the paper states them."""
    baselines: tuple[str, ...]
    """Names of the methods that the paper compares with."""
    figures: Mapping[str, Mapping[str, float]]
    """The paper's results: numbers by the name of the metric, by the name of the baseline."""

    @property
    def honest(self) -> bool:
        """Whether the paper should become a task."""
        return self.stage == "install"


def read_key(path: Path) -> dict[str, KeyPaper]:
    """An answer key: what should be found in each paper, by the name of the paper's file.

    Args:
        path: a TOML file, or a folder that holds ``KEY.toml``.

    Raises:
        UsageError: the file cannot be read as a key.
    """
    path = path / "KEY.toml" if path.is_dir() else path
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        papers = [_paper(name, table) for name, table in tables.items() if isinstance(table, dict)]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}: cannot be read as an answer key ({error!r}); see tests/openfingym_forge/key/KEY.toml"
        ) from None
    return {paper.file: paper for paper in papers}


def _paper(name: str, table: Mapping[str, object]) -> KeyPaper:
    def texts(key: str) -> tuple[str, ...]:
        return tuple(cast("list[str]", table.get(key, [])))

    return KeyPaper(
        name=name,
        file=str(table["file"]),
        stage=str(table["stage"]),
        state=str(table["state"]),
        codes=texts("codes"),
        contradictions=texts("contradictions"),
        fields=cast("Mapping[str, object]", table.get("fields", {})),
        metrics=tuple(cast("list[Mapping[str, object]]", table.get("metrics", []))),
        baselines=texts("baselines"),
        figures=cast("Mapping[str, Mapping[str, float]]", table.get("figures", {})),
    )
