"""The folder of a finished rollout.

::

    runs/<rollout id>/
        config.json        what went into it: task, agent, program, prompt and environment with their digests, limits, seed, versions
        result.json        how it ended: state, loss, metrics, reason
        program.py         what was run
        output.log         its stdout and stderr
        log.jsonl          the verifier's hash-chained log of this rollout
        submissions/N.npy  what the verifier accepted; of a sequential task, 1.npy holds the outcomes of its episodes
        trajectory.json    of an agent with a model: what was said and done (openfingym.trajectory)
        actions.jsonl      of a sequential task: every action the verifier took, in order

The folder appears under its name only when it is complete.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from openfingym.errors import StoreError
from openfingym.files.strange import MEGABYTE, read_json
from openfingym.results.faults import fault_of
from openfingym.results.result import RolloutResult

RESULT = "result.json"
RESULT_LIMIT = MEGABYTE
"""Bytes that a ``result.json`` may have."""


@dataclass(frozen=True)
class RunFiles:
    """What is written beside ``result.json``."""

    config: Mapping[str, object]
    program: str
    output: bytes
    log: Iterable[Mapping[str, object]]
    submissions: Mapping[int, bytes]
    """Accepted submissions by number, as ``.npy`` bytes."""
    actions: Iterable[Mapping[str, object]] | None = None
    """Actions in a sequential task: episode, fold, number, step and action of each."""
    trajectory: str | None = None
    """JSON document of what an agent with a model said and did."""


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Report what the file system refuses as a :class:`StoreError`, with the remedy."""
    try:
        yield
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedy = "free some space, then run the same command again" if full else "choose another folder with --out"
        raise StoreError(f"{error.filename or path}: the run cannot be written ({error.strerror}); {remedy}") from error


def write_run(root: Path, result: RolloutResult, files: RunFiles) -> RolloutResult:
    """Write one run folder below ``root``; it appears complete or not at all.

    Returns:
        The result, with its path.

    Raises:
        StoreError: it cannot be written; nothing half-written stays.
    """
    final = (root / result.rollout_id).absolute()
    partial = root / f".{result.rollout_id}.partial"
    result = replace(result, path=final)
    try:
        with store_errors(final):
            (partial / "submissions").mkdir(parents=True)
            _write_json(partial / "config.json", dict(files.config))
            (partial / "program.py").write_text(files.program, encoding="utf-8")
            (partial / "output.log").write_bytes(files.output)
            _write_lines(partial / "log.jsonl", files.log)
            if files.actions is not None:
                _write_lines(partial / "actions.jsonl", files.actions)
            if files.trajectory is not None:
                (partial / "trajectory.json").write_text(files.trajectory, encoding="utf-8")
            for number, content in files.submissions.items():
                (partial / "submissions" / f"{number}.npy").write_bytes(content)
            _write_json(partial / "result.json", result.to_dict())
            partial.rename(final)
    except StoreError:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return result


def rewrite_result(result: RolloutResult) -> None:
    """Put a result in the place of the one in its run's folder, whole or not at all.

    Raises:
        StoreError: it cannot be written; the old one stays.
    """
    assert result.path is not None, "only a result that was kept can be written again"
    final = result.path / "result.json"
    partial = final.with_name(".result.json.partial")
    try:
        with store_errors(final):
            _write_json(partial, result.to_dict())
            partial.replace(final)
    except StoreError:
        partial.unlink(missing_ok=True)
        raise


def read_run(folder: Path) -> RolloutResult:
    """Read the result of a run folder, which may be a stranger's.

    Returns:
        The result; its path is the folder.

    Raises:
        StoreError: there is none, or it is damaged.
    """
    path = folder / RESULT
    try:
        data = read_json(folder, RESULT, RESULT_LIMIT)
        if not isinstance(data, dict):
            raise ValueError("it is no object")
        # A folder may have been moved, and the path in its result may be anybody's.
        result = RolloutResult.from_dict(data | {"path": str(folder.absolute())})
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"{path}: not a readable result ({reason})") from error
    fault = fault_of(result)
    if fault is not None:
        raise StoreError(f"{path}: {fault}")
    return result


def _write_lines(path: Path, values: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{json.dumps(value, sort_keys=True)}\n" for value in values)


def _write_json(path: Path, value: object) -> None:
    path.unlink(missing_ok=True)
    # Not through a link that somebody put there.
    with path.open("x", encoding="utf-8") as stream:
        json.dump(value, stream, indent=2, sort_keys=True, allow_nan=False)
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())
