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
    file: str
    """Name of its file in the corpus."""
    stage: str
    """Where it ends: ``install`` for what becomes a task."""
    state: str
    codes: tuple[str, ...]
    """Codes of the reasons for which it is refused."""
    contradictions: tuple[str, ...]
    """Fields of which it says two things."""
    fields: Mapping[str, object]
    metrics: tuple[Mapping[str, object], ...]
    baselines: tuple[str, ...]
    figures: Mapping[str, Mapping[str, float]]

    @property
    def honest(self) -> bool:
        """Whether it should become a task."""
        return self.stage == "install"


def read_key(path: Path) -> dict[str, KeyPaper]:
    """A key by the names of its papers' files.

    Args:
        path: a TOML file, or a folder that holds ``KEY.toml``.

    Raises:
        UsageError: it cannot be read as a key.
    """
    path = path / "KEY.toml" if path.is_dir() else path
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        papers = [_paper(name, one) for name, one in found.items() if isinstance(one, dict)]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: cannot be read as an answer key ({error!r}); see tests/forge/key/KEY.toml") from None
    return {paper.file: paper for paper in papers}


def _paper(name: str, one: Mapping[str, object]) -> KeyPaper:
    def texts(key: str) -> tuple[str, ...]:
        return tuple(cast("list[str]", one.get(key, [])))

    return KeyPaper(
        name=name,
        file=str(one["file"]),
        stage=str(one["stage"]),
        state=str(one["state"]),
        codes=texts("codes"),
        contradictions=texts("contradictions"),
        fields=cast("Mapping[str, object]", one.get("fields", {})),
        metrics=tuple(cast("list[Mapping[str, object]]", one.get("metrics", []))),
        baselines=texts("baselines"),
        figures=cast("Mapping[str, Mapping[str, float]]", one.get("figures", {})),
    )
