"""Runs as a pandas DataFrame with one row for each rollout."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.files.strange import walk
from openfingym.receipts import PublicKey
from openfingym.reports.cells import log_penalized, log_relative, paper_reward, skill_of
from openfingym.reports.groups import families_of_tasks
from openfingym.reports.runs import FoundRuns, RunConfig, read_below
from openfingym.results.run_folder import RESULT
from openfingym.rollouts.folders import STAGING

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.results import RolloutResult

COLUMNS = {
    "task": "string",
    "task_digest": "string",
    "family": "string",
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
    "penalized": "float64",
    "skill": "float64",
    "total": "float64",
    "total_low": "float64",
    "total_high": "float64",
    "relative_total": "float64",
    "relative_low": "float64",
    "relative_high": "float64",
    "verdict": "string",
    "wall_s": "float64",
    "verifier_s": "float64",
    "turns": "Int64",
    "prompt_tokens": "Int64",
    "completion_tokens": "Int64",
    "cost_usd": "float64",
    "backend": "string",
    "isolation": "string",
    "backed": "boolean",
    "principal": "string",
    "openfingym": "string",
    "started_at": "datetime64[ns, UTC]",
    "rollout_id": "string",
    "folder": "string",
}
"""The columns with their types, in order; docs/reports.md says what each is. They are named as in
:class:`openfingym.RolloutResult`, except what reports compute (``family``, ``success``, ``reward``, ``penalized``,
``skill``), the ends of intervals, ``endpoint``, ``openfingym`` (the version with which the run was made) and
``folder``."""


def read_runs(*folders: str | Path, metrics: bool = False, keys: Sequence[str] = ()) -> pd.DataFrame:
    """Read every rollout at or below some folders into a table.

    ``reward``, ``skill`` and ``penalized`` are what a report averages, so that its figures can be computed from them:
    the paper's reward of a scored run, which a rejected one lacks; the skill, 0 of a rejected run, since it counts as
    the baseline; and the relative total, 100 of a rejected run. ``success`` is whether a rollout was scored rather than
    rejected. All four are missing if the agent is not to blame, so that means leave out infrastructure errors. The
    reward that a trainer gets is another figure: :meth:`openfingym.RolloutResult.reward`.

    A rollout that cannot be read has the state ``damaged``, and one that is being written, or was when its process
    died, ``unfinished``; of both, only the folder is known. A copy of a rollout is left out; ``attrs["copies"]`` counts
    them.

    Not all rows compare. Rollouts on instances have another ``split`` than ``test``: their totals are of training data,
    and do not belong beside scores. Rollouts that were asked a slice of a task's questions have it in ``questions``,
    and compare only with those on the same slice.

    Args:
        folders: folders of runs, or folders with runs anywhere below them.
        keys: public keys of logs in their text form, which back rollouts beside the keys that this machine knows.
        metrics: whether to add a column ``metric_NAME`` for each metric on the private fold, in its own direction.

    Returns:
        A row for each rollout, sorted by task, agent, model, seed and attempt; what could not be read comes last.

    Raises:
        UsageError: a key is none, a path is not a folder, or there is no run in any of the folders.
    """
    import pandas as pd

    if not folders:
        raise UsageError("read_runs needs a folder of runs, such as read_runs('runs')")
    paths = [Path(folder) for folder in folders]
    found = read_below(paths, [PublicKey.parse(key) for key in keys])
    rows = list(_rows(found))
    rows += [{"state": "unfinished", "folder": str(path)} for path in _unfinished(paths)]
    if not rows:
        raise UsageError(f"no run was found below {', '.join(map(str, paths))}; a run is a folder with a result.json")
    fitting = [{name: _fitting(row.get(name), dtype) for name, dtype in COLUMNS.items()} for row in rows]
    frame = pd.DataFrame.from_records(fitting, columns=list(COLUMNS))
    # A stranger's run may state any text as its time.
    frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True, errors="coerce", format="ISO8601")
    frame = frame.astype(COLUMNS)
    # Results are the first rows, so that metrics join them by position.
    if metrics:
        names = sorted({name for result in found.results for name in result.metrics})
        values = pd.DataFrame([result.metrics for result in found.results], columns=names, dtype="float64")
        frame = frame.join(values.add_prefix("metric_"))
    frame.attrs["copies"] = found.copies
    return frame


def _rows(found: FoundRuns) -> Iterator[dict[str, object]]:
    """A row for each rollout, and after them one for each damaged run."""
    families = families_of_tasks(
        (result.task, found.configs.get(result.rollout_id, RunConfig()).family) for result in found.results
    )
    for result in found.results:
        yield _row(result, families[result.task], found.configs.get(result.rollout_id, RunConfig()))
    for damaged in found.damaged:
        yield {"state": "damaged", "reason": damaged.reason, "folder": str(damaged.path.absolute())}


def _row(result: RolloutResult, family: str, config: RunConfig) -> dict[str, object]:
    """The values of a rollout, by their columns."""
    total, relative = (ends or (None, None) for ends in (result.total_interval, result.relative_interval))
    judged = result.state in {"scored", "rejected"}
    computed = {
        "family": family,
        "questions": result.slice,
        "endpoint": config.endpoint,
        "backed": config.backed,
        "success": result.state == "scored" if judged else None,
        "reward": paper_reward(result, family) if result.state == "scored" else None,
        "penalized": math.exp(log_penalized(result)) if judged else None,
        "skill": skill_of(log_relative(result)) if judged else None,
        "total_low": total[0],
        "total_high": total[1],
        "relative_low": relative[0],
        "relative_high": relative[1],
        "openfingym": config.version,
        "folder": str(result.path),
    }
    return {name: computed[name] if name in computed else getattr(result, name) for name in COLUMNS}


def _fitting(value: object, dtype: str) -> object:
    """A value as a column of this type can hold it. It may be anything, since a run folder may be a stranger's."""
    # Names of folders need not be valid UTF-8.
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    # A column of integers takes neither fractions nor numbers of more than 64 bits.
    if dtype == "Int64" and isinstance(value, int | float):
        return int(value) if abs(value) < 2**63 and value == int(value) else None
    return value


def _unfinished(roots: Iterable[Path]) -> list[Path]:
    """The folders of rollouts that are being written, or were when their process died, sorted."""
    unfinished = set()
    for root in roots:
        for folder, names in walk(root.absolute(), leaf=RESULT):
            # A plan writes its rollouts in a folder of their own, a single run beside its place under a hidden name.
            if STAGING in (names or ()):
                unfinished.update(_folders_in(folder / STAGING))
            unfinished.update(path for path in _folders_in(folder) if path.match(".*.partial"))
    return sorted(unfinished)


def _folders_in(folder: Path) -> list[Path]:
    """The folders in a folder; none if it is a link, or cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            inside = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
            return [] if folder.is_symlink() else inside
    except OSError:
        return []
