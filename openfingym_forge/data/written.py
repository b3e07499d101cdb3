"""Writing a candidate's table of data, as its task will hold it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of_file
from openfingym.files.whole import store_errors
from openfingym_forge.data.provenance import ForgeProvenance
from openfingym_forge.data.tables import is_dated

if TYPE_CHECKING:
    import pandas as pd

    from openfingym_forge.blueprint import Blueprint


def measure_of(blueprint: Blueprint, frame: pd.DataFrame) -> str:
    """What a table measures: ``price``, ``yield`` or ``mixed``, as the blueprint says. A table with a value that is not
    above 0 has no prices.
    """
    stated = str(blueprint.value("data.measure") or "")
    if stated == "price" and not bool((frame.to_numpy() > 0).all()):
        return "mixed"
    return stated if stated in ("price", "yield", "mixed") else "mixed"


def write_table(frame: pd.DataFrame, folder: Path, taken: ForgeProvenance, measure: str) -> ForgeProvenance:
    """Write a table as ``data.csv``, without the rows that have a gap.

    Args:
        frame: the table, by time, or by number if its rows have no time.
        folder: folder of the candidate's data.
        taken: where the data are from.
        measure: what they measure: ``price``, ``yield`` or ``mixed``.

    Returns:
        The provenance, with the keys that the task needs, the digest of the file and its number of rows.
    """
    import numpy as np

    from openfingym.data.csvfile import canonical_csv

    whole = frame.dropna().sort_index()
    dated = is_dated(whole)
    with store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "data.csv"
        if dated:
            times = whole.index.to_numpy()
            # Days without an hour, if all rows are of midnight.
            day = times.astype("datetime64[D]")
            times = day if (day == times).all() else times.astype("datetime64[s]")
            path.write_bytes(canonical_csv(times, list(whole.columns), whole.to_numpy(np.float64)))
        else:
            whole.to_csv(path, index_label="row", lineterminator="\n")
    dataset: dict[str, object] = {
        "file": path.name,
        "measure": measure,
        "kind": "real",
        "source": taken.source,
        "licence": taken.licence,
        "channels": [str(name) for name in whole.columns],
    }
    if not dated:
        dataset["dates"] = False
    digests = {**taken.digests, path.name: sha256_of_file(path)}
    return replace(taken, dataset=dataset, digests=digests, rows=len(whole))
