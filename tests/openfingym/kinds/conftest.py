"""Small tasks of every kind, over data whose rows are known."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from tests.openfingym.kinds.materials import edited


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Task]:
    """Writes a scaffold, puts other text into its ``task.toml`` and other columns into its CSV."""

    def write(kind: str = "forecast", columns: Mapping[str, NDArray[np.float64]] | None = None, **edits: str) -> Task:
        folder = new_task(f"my-{len(list(tmp_path.iterdir()))}", tmp_path, kind)
        path = folder / "task.toml"
        text = path.read_text()
        for name, value in edits.items():
            text = edited(text, name, value)
        path.write_text(text)
        tomllib.loads(text)
        if columns is not None:
            days = np.datetime64("2020-01-01") + np.arange(len(next(iter(columns.values()))))
            rows = zip(days, *(values.tolist() for values in columns.values()), strict=True)
            lines = [",".join(map(str, row)) for row in rows]
            (folder / "data.csv").write_text("\n".join([",".join(["date", *columns]), *lines]) + "\n")
        return Task.read(folder)

    return write
