"""The result of one rollout, in memory and on disk.

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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from openfingym.errors import StoreError
from openfingym.strange_files import MEGABYTE, read_json
from openfingym.tape_kinds import TapeKind

State = Literal["scored", "rejected", "deferred", "void", "error"]
"""``rejected`` is the agent's fault; ``error`` is ours, and is never averaged in as a score."""

Boundary = Literal["agent", "model", "protocol", "sandbox", "verifier"]
"""What a failure crossed. ``agent``: what it did, or did not. ``model``: it refused; of an error, its endpoint was away. ``protocol``:
its answers were empty, endless, or neither program nor call. ``sandbox`` and ``verifier`` are ours."""

Verdict = Literal["better", "worse", "no difference"]
"""Of an answer beside its task's baseline."""

FORMAT = 2
RESULT = "result.json"
RESULT_LIMIT = MEGABYTE
"""Bytes that a ``result.json`` may have."""
EVEN = 1e-9
"""A relative total as close to 1 is the baseline's own answer but for rounding."""
INTERVALS = ("relative_interval", "total_interval")
"""Fields with the two ends of an interval."""
GRPO_LOSS_CAP = 5.0
GRPO_FAILURE = -6.0
LOSS_CAP = 99.0
LOSS_FAILURE = -100.0

PolicyName = Literal["local", "strict"]
"""What a verifier tells: ``local`` everything, to the user on whose machine the labels are; ``strict`` so much a participant and season."""

Disclosure = Literal["full", "rounded", "held"]
"""How much of a private result was told: all of it, no finer than its sampling error, or nothing before the season is closed."""

RewardName = Literal["loss", "grpo", "relative"]


@dataclass(frozen=True)
class RolloutResult:
    """How one rollout ended."""

    rollout_id: str
    task: str
    task_digest: str
    data_kind: str
    agent: str
    backend: str
    seed: int
    state: State
    reason: str | None = None
    """Why it was rejected, or what failed; None where it was scored."""
    total: float | None = None
    """The source paper's weighted loss on the private fold; lower is better."""
    relative_total: float | None = None
    """Geometric mean of each metric's loss relative to the baseline's: lower is better, 1 is the baseline. Ranks."""
    relative_interval: tuple[float, float] | None = None
    """95 % interval of the relative total, paired with the baseline: what other hidden rows of the same market would have given.
    None where nothing can be said."""
    total_interval: tuple[float, float] | None = None
    """95 % interval of the total; None where nothing can be said."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Each metric on the private fold, in its own direction."""
    standard_errors: dict[str, float] = field(default_factory=dict)
    """Standard error of each metric, in its unit; without those of which nothing can be said."""
    baseline: str | None = None
    """Name of the baseline: ``naive``, ``gaussian``, ``random`` or ``buy-and-hold``."""
    baseline_total: float | None = None
    """The paper's loss of the baseline on the same fold."""
    baseline_metrics: dict[str, float] = field(default_factory=dict)
    """Each metric of the baseline on the same fold."""
    direction: Literal["lower"] = "lower"
    submissions_accepted: int = 0
    """Of a sequential task, private episodes begun."""
    submissions_rejected: int = 0
    """Of a sequential task, actions refused."""
    budget: int = 0
    """Submissions that could be accepted; of a sequential task, its private episodes."""
    flags: tuple[str, ...] = ()
    """What the verifier noticed, such as ``probing``."""
    policy: PolicyName | None = None
    """Under which the score came about."""
    season: str | None = None
    """Of the verifier, in which the rollout was begun."""
    disclosure: Disclosure | None = None
    """How much of the verifier's result this is. ``held``: the state is ``deferred`` until the season is closed."""
    ended_by: str | None = None
    """How the program ended: exit, timeout, memory, output, cancelled; of an agent that ran many, how it ended
    (:data:`openfingym.agents.llm.ending.EndName`)."""
    exit_code: int | None = None
    wall_s: float = 0.0
    started_at: str = ""
    model: str | None = None
    """Language model that acted; None for a program."""
    attempt: int = 0
    """Counts repetitions with the same task, agent, model and seed, from 0."""
    boundary: Boundary | None = None
    """Where a rollout without a score failed; None where it was scored."""
    told: bool = False
    """Of an ``error``: whether the agent was answered anything that follows from hidden data, so that it is not run again."""
    turns: int = 0
    """Completions asked of the model."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """What the completions cost; None where no price is known."""
    tape: TapeKind = "given"
    """Which hidden data it was scored on, as was the baseline: the package's own, ``fresh`` or a ``twin`` (openfingym.tapes)."""
    log_head: str | None = None
    """Hash of the verifier's log when the rollout was finalized."""
    format: int = FORMAT
    path: Path | None = None
    """Folder of the result on disk, if it was written."""

    @property
    def skill(self) -> float | None:
        """1 - relative_total: 0 is no better than the baseline, 0.99 the most there is."""
        return None if self.relative_total is None else 1.0 - self.relative_total

    @property
    def verdict(self) -> Verdict | None:
        """Whether it beats the baseline beyond the sampling error of the hidden rows; None without an interval."""
        if self.relative_interval is None:
            return None
        low, high = self.relative_interval
        return "better" if high < 1.0 - EVEN else "worse" if low > 1.0 + EVEN else "no difference"

    def reward(self, name: RewardName = "loss") -> float:
        """The reward of this rollout; higher is better, always finite.

        ``grpo`` is the paper's transform (appendix B): -min(loss, 5), and -6 for a failure of the agent.
        ``loss`` is -min(loss, 99), and -100 for a failure of the agent. ``relative`` is the same of the
        relative total, which has the same scale in every task.

        Raises:
            StoreError: the rollout ended in an error of ours, which has no reward.
        """
        if self.state in {"error", "void", "deferred"}:
            raise StoreError(f"rollout {self.rollout_id} has no reward, its state is {self.state!r}: {self.reason or 'not resolved yet'}")
        cap, failure = (GRPO_LOSS_CAP, GRPO_FAILURE) if name == "grpo" else (LOSS_CAP, LOSS_FAILURE)
        loss = self.relative_total if name == "relative" else self.total
        return failure if loss is None else -min(loss, cap)

    def to_dict(self) -> dict[str, object]:
        """Plain values, as ``result.json`` and ``--json`` show them."""
        data = asdict(self)
        data["flags"] = list(self.flags)
        data["path"] = str(self.path) if self.path else None
        data["skill"] = self.skill
        data["verdict"] = self.verdict
        for name in INTERVALS:
            data[name] = None if data[name] is None else list(data[name])
        data["reward"] = self.reward() if self.state in {"scored", "rejected"} else None
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> RolloutResult:
        """Read what :meth:`to_dict` gave."""
        fields = {key: value for key, value in data.items() if key in cls.__dataclass_fields__}
        fields["flags"] = tuple(data["flags"])  # type: ignore[arg-type]  # plain JSON
        for name in INTERVALS:
            fields[name] = None if data.get(name) is None else tuple(data[name])  # type: ignore[arg-type]  # plain JSON
        fields["path"] = Path(str(data["path"])) if data.get("path") else None
        return cls(**fields)  # type: ignore[arg-type]  # plain JSON


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
    from openfingym.result_faults import fault_of

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
