"""The sizes that the source paper's catalogue states for each of its rows, and how a task's split differs from them.

They are not in ``task.toml``, which is a public file of the task's package and so a part of its digest.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.task.model import Split

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class PublishedSizes:
    """Items of one row of the catalogue: windows, rows, paths, nodes or graphs; None for a part that it does not
    state.
    """

    train: int | None
    validation: int | None
    test: int | None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Shares of training, validation and test items; None where the catalogue does not divide them."""
        if self.train is None or self.test is None:
            return None
        counts = self.train, self.validation or 0, self.test
        return tuple(count / sum(counts) for count in counts)


@functools.cache
def published_sizes() -> Mapping[str, PublishedSizes]:
    """The sizes by the row's id, in the order of the catalogue; with rows that no task follows."""
    text = (resources.files("openfingym") / "task" / "published_sizes.csv").read_text(encoding="utf-8")
    return {
        row["id"]: PublishedSizes(*(int(row[part]) if row[part] else None for part in PARTS))
        for row in csv.DictReader(io.StringIO(text))
    }


def split_beside_published(catalogue_id: str | None, split: Split | None) -> str | None:
    """What the catalogue states of the sizes, and the task's own split where both divide their data, as a phrase; None
    where the catalogue states nothing.

    Args:
        catalogue_id: the row of the catalogue that the task follows.
        split: how the task's rows are divided; None for a task whose data come divided.
    """
    sizes = published_sizes().get(catalogue_id or "")
    if sizes is None or sizes.test is None:
        return None
    stated = ((part, getattr(sizes, part)) for part in PARTS)
    text = ", ".join(f"{count:,} {part}" for part, count in stated if count is not None)
    if sizes.shares is None:
        return f"{text} items in the catalogue, undivided"
    text += f" items in the catalogue ({_percent(sizes.shares)})"
    if split is None:
        return text
    if split.dated:
        return f"{text}; here the public rows begin on {split.public_from}, the private ones on {split.private_from}"
    return f"{text}; {_percent(split.shares)} of the rows here, by time"


def _percent(shares: tuple[float, ...]) -> str:
    return "/".join(f"{100.0 * share:.0f}" for share in shares) + " %"
