"""Runs as a pandas DataFrame, one row a rollout."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.files.strange import walk
from openfingym.reports.runs import FoundRuns, Made, found_below
from openfingym.results import RESULT
from openfingym.rollouts.folders import STAGING

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.results import RolloutResult

COLUMNS = {
    "task": "string",
    "task_digest": "string",
    "data_kind": "string",
    "tape": "string",
    "split": "string",
    "instance": "Int64",
    "questions": "string",
    "agent": "string",
    "model": "string",
    "endpoint": "string",
    "seed": "Int64",
    "attempt": "Int64",
    "state": "string",
    "boundary": "string",
    "reason": "string",
    "success": "boolean",
    "reward": "float64",
    "total": "float64",
    "total_low": "float64",
    "total_high": "float64",
    "relative_total": "float64",
    "relative_low": "float64",
    "relative_high": "float64",
    "skill": "float64",
    "verdict": "string",
    "wall_s": "float64",
    "verifier_s": "float64",
    "turns": "Int64",
    "prompt_tokens": "Int64",
    "completion_tokens": "Int64",
    "cost_usd": "float64",
    "backend": "string",
    "openfingym": "string",
    "started_at": "datetime64[ns, UTC]",
    "rollout_id": "string",
    "folder": "string",
}
"""Columns with their types, in order; named as in :class:`openfingym.RolloutResult`, but for the ends of intervals,
``success``, ``endpoint``, ``openfingym`` (the version that made the run) and ``folder``."""


def read_runs(*folders: str | Path, metrics: bool = False) -> pd.DataFrame:
    """Every rollout at or below some folders, one row each.

    ``success`` is whether a rollout was scored rather than rejected. It, like ``reward``, is missing where the agent
    is not to blame, so means leave out infrastructure errors. A rollout that cannot be read has the state ``damaged``,
    and one that is being written, or was when its process died, ``unfinished``; both have a folder and no more than
    that. A copy of a rollout is left out; ``attrs["copies"]`` counts them. Rollouts on instances are rows too, with
    another ``split`` than ``test``: their totals are of training data, and belong beside no score. So are those that
    were asked a slice of a task's questions, which ``questions`` says: compare none with those on others.

    Args:
        folders: folders of runs, or with runs anywhere below.
        metrics: whether to add a column ``metric_NAME`` for each metric on the private fold, in its own direction.

    Returns:
        A row for each rollout, by task, agent, model, seed and attempt; what could not be read comes last.

    Raises:
        UsageError: a folder is none, or there is no run in any of them.
    """
    import pandas as pd

    if not folders:
        raise UsageError("read_runs needs a folder of runs, such as read_runs('runs')")
    paths = [Path(folder) for folder in folders]
    found = found_below(paths)
    rows = list(_rows(found))
    rows += [{"state": "unfinished", "folder": str(path)} for path in _unfinished(paths)]
    if not rows:
        raise UsageError(f"no run was found below {', '.join(map(str, paths))}; a run is a folder with a result.json")
    fitting = [{name: _fitting(row.get(name), kind) for name, kind in COLUMNS.items()} for row in rows]
    frame = pd.DataFrame.from_records(fitting, columns=list(COLUMNS))
    frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True, errors="coerce", format="ISO8601")
    frame = frame.astype(COLUMNS)
    if metrics:
        names = sorted({name for result in found.results for name in result.metrics})
        values = pd.DataFrame([result.metrics for result in found.results], columns=names, dtype="float64")
        frame = frame.join(values.add_prefix("metric_"))
    frame.attrs["copies"] = found.copies
    return frame


def _rows(found: FoundRuns) -> Iterator[dict[str, object]]:
    for result in found.results:
        yield _row(result, found.made.get(result.rollout_id, Made()))
    for damaged in found.damaged:
        yield {"state": "damaged", "reason": damaged.reason, "folder": str(damaged.path.absolute())}


def _row(result: RolloutResult, made: Made) -> dict[str, object]:
    total, relative = (ends or (None, None) for ends in (result.total_interval, result.relative_interval))
    judged = result.state in {"scored", "rejected"}
    computed = {
        "questions": result.slice,
        "endpoint": made.endpoint,
        "success": result.state == "scored" if judged else None,
        "reward": result.reward() if judged else None,
        "total_low": total[0],
        "total_high": total[1],
        "relative_low": relative[0],
        "relative_high": relative[1],
        "openfingym": made.version,
        "folder": str(result.path),
    }
    return {name: computed[name] if name in computed else getattr(result, name) for name in COLUMNS}


def _fitting(value: object, kind: str) -> object:
    """A value as a column of this type can hold it; a run folder may be a stranger's."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()  # names of folders need not be Unicode
    if kind == "Int64" and isinstance(value, int | float):
        return int(value) if abs(value) < 2**63 and value == int(value) else None
    return value


def _unfinished(roots: Iterable[Path]) -> list[Path]:
    """Folders of rollouts that are being written, or were when their process died."""
    found = set()
    for root in roots:
        for folder, names in walk(root.absolute(), leaf=RESULT):
            if STAGING in (names or ()):
                found.update(_folders_in(folder / STAGING))
            found.update(path for path in _folders_in(folder) if path.match(".*.partial"))
    return sorted(found)


def _folders_in(folder: Path) -> list[Path]:
    """Folders in a folder that is no link; none where it cannot be looked into."""
    try:
        with os.scandir(folder) as entries:
            own = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
            return [] if folder.is_symlink() else own
    except OSError:
        return []
