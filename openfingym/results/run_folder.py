"""The folder of a finished rollout.

::

    runs/<rollout id>/
        config.json        what went into it: task, agent, program, prompt and environment with their digests,
                           limits, seed, versions
        result.json        how it ended: state, loss, metrics, reason
        program.py         what was run
        output.log         its stdout and stderr
        log.jsonl          the verifier's hash-chained log of this rollout
        submissions/N.npy  what the verifier accepted; of a sequential task, 1.npy holds the outcomes of its episodes
        trajectory.json    of an agent with a model: what was said and done (openfingym.trajectory)
        tape               of a live session: everything that went into it (docs/live.md)
        actions.jsonl      of a sequential task: every action the verifier took, in order
        questions.jsonl    of a task that asks questions one by one: how each of them ended
        receipt.json       proves that the verifier's log has the submission and the result (docs/receipts.md)
        verified.json      the result as the verifier wrote it: what the log's digest is of

The folder appears under its name only when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from openfingym.errors import StoreError
from openfingym.files.strange import MEGABYTE, read_json
from openfingym.files.whole import store_errors, whole_file, whole_folder, write_json
from openfingym.results.faults import fault_of
from openfingym.results.result import RolloutResult

RESULT = "result.json"
CONFIG = "config.json"
OUTPUT = "output.log"
ACTIONS = "actions.jsonl"
QUESTIONS = "questions.jsonl"
TRAJECTORY = "trajectory.json"
SESSION_TAPE = "tape"
RECEIPT = "receipt.json"
VERIFIED = "verified.json"
"""Names of files in a run's folder."""
RESULT_LIMIT = MEGABYTE
"""The most bytes that a ``result.json`` may have: ours have a few kilobytes, and a stranger's must not fill memory."""


@dataclass(frozen=True)
class Proof:
    """The two files that prove a result."""

    receipt: bytes
    """The receipt of the rollout in JSON: its entries in the verifier's log, with what leads to a signed checkpoint."""
    verified: bytes
    """The result in canonical JSON, as the verifier wrote it; the log holds its digest."""


@dataclass(frozen=True)
class RunFiles:
    """The files that are written beside ``result.json``."""

    config: Mapping[str, object]
    """What went into the rollout, as plain values."""
    program: str
    """Source of the program that was run; empty where there was none."""
    output: bytes
    """What programs wrote to stdout and stderr."""
    log: Iterable[Mapping[str, object]]
    """Rows of the verifier's log about this rollout, in order."""
    submissions: Mapping[int, bytes]
    """Accepted submissions by number, as ``.npy`` bytes."""
    actions: Iterable[Mapping[str, object]] | None = None
    """Actions in a sequential task: episode, fold, number, step and action of each; None in any other task."""
    trajectory: str | None = None
    """JSON document of what an agent with a model said and did; None of any other agent."""
    tape: bytes | None = None
    """Tape of the live session; None where there was none."""
    proof: Proof | None = None
    """What proves the result; None where the verifier has no proof."""
    questions: Iterable[Mapping[str, object]] | None = None
    """A row for each question of a task that asks them one by one; None of any other task."""


def write_run(root: Path, result: RolloutResult, files: RunFiles) -> RolloutResult:
    """Write one run folder below ``root``; it appears complete or not at all.

    Args:
        root: folder below which the run's folder is made, named by the rollout's id; made if missing.
        result: the result of the rollout.
        files: the files that are written beside the result.

    Returns:
        The result, with the path of its folder.

    Raises:
        StoreError: the folder cannot be written; nothing half-written stays.
    """
    # Absolute, since the path is in the result, which is read by programs that run elsewhere.
    final = (root / result.rollout_id).absolute()
    result = replace(result, path=final)
    with store_errors(final):
        root.mkdir(parents=True, exist_ok=True)
        with whole_folder(root / result.rollout_id) as folder:
            (folder / "submissions").mkdir()
            write_json(folder / CONFIG, dict(files.config))
            (folder / "program.py").write_text(files.program, encoding="utf-8")
            (folder / OUTPUT).write_bytes(files.output)
            _write_lines(folder / "log.jsonl", files.log)
            if files.actions is not None:
                _write_lines(folder / ACTIONS, files.actions)
            if files.questions is not None:
                _write_lines(folder / QUESTIONS, files.questions)
            if files.tape is not None:
                (folder / SESSION_TAPE).write_bytes(files.tape)
            if files.trajectory is not None:
                (folder / TRAJECTORY).write_text(files.trajectory, encoding="utf-8")
            if files.proof is not None:
                (folder / RECEIPT).write_bytes(files.proof.receipt)
                (folder / VERIFIED).write_bytes(files.proof.verified)
            for number, content in files.submissions.items():
                (folder / "submissions" / f"{number}.npy").write_bytes(content)
            write_json(folder / RESULT, result.to_dict())
    return result


def rewrite_result(result: RolloutResult, proof: Proof | None = None) -> None:
    """Replace the result in its run's folder, whole or not at all.

    Args:
        result: the new result, whose path is the folder of its run.
        proof: what proves the new result, to take the place of the old proof; None leaves the old one.

    Raises:
        StoreError: a file cannot be written; the old result stays.
    """
    assert result.path is not None, "only a result that was kept can be written again"
    final = result.path / RESULT
    with store_errors(final):
        # The result comes last: if this is broken off, the old result is still deferred, and the next collection
        # writes all three files again.
        if proof is not None:
            for name, content in ((RECEIPT, proof.receipt), (VERIFIED, proof.verified)):
                with whole_file(result.path / name) as stream:
                    stream.write(content.decode())
        write_json(final, result.to_dict())


def read_run(folder: Path) -> RolloutResult:
    """Read the result of a run folder, which may be a stranger's.

    Returns:
        The result, whose path is ``folder``.

    Raises:
        StoreError: the folder has no result, or a damaged one.
    """
    try:
        data = read_json(folder, RESULT, RESULT_LIMIT)
        if not isinstance(data, dict):
            raise ValueError("it is no object")
        # A folder may have been moved, and the path in its result may be anybody's.
        result = RolloutResult.from_dict(data | {"path": folder.absolute()})
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"{folder / RESULT}: not a readable result ({reason})") from error
    fault = fault_of(result)
    if fault is not None:
        raise StoreError(f"{folder / RESULT}: {fault}")
    return result


def _write_lines(path: Path, values: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{json.dumps(value, sort_keys=True)}\n" for value in values)
