"""Writing the table of a candidate, with where it is from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of_file
from openfingym.files.whole import store_errors
from openfingym.forge.data.provenance import ForgeProvenance

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.forge.blueprint import Blueprint


def measure_of(blueprint: Blueprint, frame: pd.DataFrame) -> str:
    """What a table measures: as the blueprint says, but no price where a value is not above 0."""
    stated = str(blueprint.value("data.measure") or "")
    if stated == "price" and not bool((frame.to_numpy() > 0).all()):
        return "mixed"
    return stated if stated in ("price", "yield", "mixed") else "mixed"


def write_table(frame: pd.DataFrame, folder: Path, taken: ForgeProvenance, measure: str) -> ForgeProvenance:
    """Write a table as ``data.csv``, rows with a gap left out, and return its provenance with digest and rows."""
    import numpy as np

    from openfingym.data import canonical_csv

    whole = frame.dropna().sort_index()
    dated = np.issubdtype(whole.index.to_numpy().dtype, np.datetime64)
    with store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "data.csv"
        if dated:
            times = whole.index.to_numpy()
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
