"""The page of a rollout: what its agent said and did, what it submitted, and what came of it, in one HTML file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import StoreError
from openfingym.files.strange import MEGABYTE, parse_json, read_bytes
from openfingym.reports.page import document, kind_notice
from openfingym.reports.rollout.drawings import draw
from openfingym.reports.rollout.texts import Block, arguments, block, blocks
from openfingym.results import OUTPUT, TRAJECTORY
from openfingym.trajectory.files import read_rollout
from openfingym.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from markupsafe import Markup

    from openfingym.results import RolloutResult, Verdict
    from openfingym.trajectory import RolloutRecord
    from openfingym.trajectory.record import Turn

LOG = "log.jsonl"
LIMIT = 64 * MEGABYTE
"""Bytes that a log, a program or its output may have."""
DRAWN = 3
"""Submissions that are drawn, the last ones."""
NAMED = 200
"""Failed calls that are named at the top; of these the first are shown, the rest is folded."""
SHOWN = 6
KINDS = {
    "real": "Real data.",
    "simulated": "SIMULATED data: drawn by seeded simulators, not observed.",
    "specified": "Synthetic data, as its source defines it.",
    "real with hindsight": "HINDSIGHT, an experiment: agents were shown what was not known yet. Real data.",
    "simulated with hindsight": "HINDSIGHT, an experiment: agents were shown what was not known yet. SIMULATED data.",
}
VERDICTS: Mapping[Verdict, str] = {
    "better": "better than the baseline",
    "worse": "worse than the baseline",
    "no difference": "not to be told from the baseline on these hidden rows",
}


@dataclass(frozen=True)
class CallShown:
    """A call of a tool."""

    anchor: str
    name: str
    beside: str
    below: list[Block]
    result: Block | None
    """None where the model was told nothing."""
    failed: bool
    took: str


@dataclass(frozen=True)
class MessageShown:
    """A message of the conversation."""

    anchor: str
    heading: str
    taken: str
    reasoning: Block | None
    said: list[Block]
    calls: list[CallShown]
    reward: str
    folded: bool
    """Whether it only states the task, which every conversation begins with."""


@dataclass(frozen=True)
class SubmissionShown:
    """What the verifier accepted, or refused."""

    heading: str
    taken: str
    anchor: str
    """Of the message during which it came; empty where none is known."""
    where: str
    feedback: list[Block]
    """What the agent was told."""
    drawings: list[Markup]
    note: str


def render(folder: Path, result: RolloutResult, *, back: str = "") -> str:
    """The page of a run: a self-contained HTML document, which runs no script and loads nothing.

    Args:
        folder: folder of the run, which may be a stranger's.
        result: its result.
        back: relative address of the page that links here; none where there is none.
    """
    rollout, damage = _rollout(folder)
    messages = list(_messages(rollout)) if rollout else []
    submissions = list(_submissions(folder, result, rollout, messages))
    program, output = (_text(folder, name) for name in ("program.py", OUTPUT))
    talked = any(message.calls for message in messages)
    failures = [
        (call.anchor, f"{message.heading}: {call.name} failed", _first_line(call.result))
        for message in messages
        for call in message.calls
        if call.failed
    ]
    return document(
        "rollout/rollout.html.jinja",
        f"{result.task}: {result.agent}",
        styles=("rollout/rollout.css",),
        result=result,
        who=result.agent + (f" with {result.model}" if result.model else ""),
        back=back,
        notice=kind_notice(result.data_kind, KINDS),
        verdict=VERDICTS[result.verdict] if result.verdict else "",
        facts=_facts(result, rollout),
        metrics=list(_metrics(result)),
        damage=damage,
        failed=len(failures),
        failures=failures[:SHOWN],
        folded_failures=failures[SHOWN:NAMED],
        submissions=submissions,
        messages=messages,
        program=None if talked or not program else block(program, "python"),
        output=None if talked or not output.strip() else block(output),
    )


def _rollout(folder: Path) -> tuple[RolloutRecord | None, str]:
    """The record of a conversation, and why there is none although there is a file."""
    if not os.path.lexists(folder / TRAJECTORY):
        return None, ""
    try:
        return read_rollout(folder / TRAJECTORY), ""
    except StoreError as error:
        return None, str(error)


def _text(folder: Path, name: str) -> str:
    """A text of the run, or why it cannot be read; nothing where it is not there."""
    try:
        return read_bytes(folder, name, LIMIT).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{name}: {error.strerror}"


def _messages(rollout: RolloutRecord) -> Iterator[MessageShown]:
    answers = 0
    for index, turn in enumerate(rollout.messages):
        answers += turn.role == "assistant"
        calls = []
        for number, call in enumerate(turn.tool_calls, 1):
            beside, below = arguments(call)
            took = "" if call.wall_s is None else f"{call.wall_s:.2f} s"
            told = None if call.result is None else block(call.result)
            calls.append(CallShown(f"call-{index}-{number}", call.name, beside, below, told, call.failed, took))
        rewards = [reward for reward in rollout.rewards if reward.message == index]
        steps = f"step {rewards[0].step}" + (f" to {rewards[-1].step}" if len(rewards) > 1 else "") if rewards else ""
        yield MessageShown(
            f"message-{index}",
            f"Answer {answers}" if turn.role == "assistant" else turn.role.capitalize(),
            _taken(turn),
            block(turn.reasoning, code=False) if turn.reasoning else None,
            blocks(turn.content),
            calls,
            f"reward of {steps}: {sum(reward.reward for reward in rewards):.6g}" if rewards else "",
            folded=not answers,
        )


def _taken(turn: Turn) -> str:
    """What an answer took."""
    made = turn.generation
    if made is None:
        return ""
    parts = [f"{made.latency_s:.1f} s", f"{made.usage.prompt:,} + {made.usage.completion:,} tokens"]
    if made.cost_usd is not None:
        parts.append(f"${made.cost_usd:.4f}")
    if made.attempts > 1:
        parts.append(f"{made.attempts} attempts")
    if made.finish_reason not in {"stop", "tool_calls"}:
        parts.append(f"ended by {made.finish_reason}")
    return ", ".join(parts)


def _submissions(
    folder: Path, result: RolloutResult, rollout: RolloutRecord | None, messages: list[MessageShown]
) -> Iterator[SubmissionShown]:
    """What was submitted, by the verifier's log; of a sequential task, what was played."""
    try:
        entries = [entry for entry in _entries(folder) if entry.get("event") in {"accepted", "played", "rejected"}]
    except (OSError, ValueError) as error:
        yield SubmissionShown(f"{LOG} cannot be read: {error}", "", "", "", [], [], "")
        return
    numbers = [entry["submission"] for entry in entries if isinstance(entry.get("submission"), int)]
    for entry in entries:
        number, seconds = entry.get("submission"), _seconds(entry.get("at_ns"))
        place = _message_at(rollout, seconds) if rollout else -1
        message = messages[place] if place >= 0 else None
        drawn: tuple[list[Markup], str] = ([], "")
        if isinstance(number, int) and number in numbers[-DRAWN:]:
            drawn = draw(folder, number, result)
        refused = entry["event"] == "rejected"
        yield SubmissionShown(
            f"Refused: {entry.get('problem')}" if refused else f"Submission {number}",
            _after(result.started_at, seconds),
            message.anchor if message else "",
            message.heading if message else "",
            [call.result for call in message.calls if call.result is not None and call.name == "submit"]
            if message
            else [],
            *drawn,
        )


def _seconds(at: object) -> float:
    """A moment of the log in seconds since 1970; 0 where it states none."""
    return at / 1e9 if isinstance(at, int) and 0 <= at < 2**63 else 0.0


def _after(started_at: str, at: float) -> str:
    """How long after the start of the run a moment was."""
    try:
        began = datetime.fromisoformat(started_at).timestamp()
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{at - began:.1f} s after the start" if at >= began else ""


def _message_at(rollout: RolloutRecord, at: float) -> int:
    """Index of the last answer before a moment, in seconds since 1970; -1 where none is known."""
    before = [n for n, turn in enumerate(rollout.messages) if turn.at is not None and turn.at.timestamp() <= at]
    return before[-1] if before and rollout.messages[before[-1]].role == "assistant" else -1


def _entries(folder: Path) -> list[dict[str, Any]]:
    try:
        lines = read_bytes(folder, LOG, LIMIT).decode("utf-8").splitlines()
    except FileNotFoundError:
        return []
    documents = (parse_json(line) for line in lines)
    found = [document.get("entry") for document in documents if isinstance(document, dict)]
    return [entry for entry in found if isinstance(entry, dict)]


def _facts(result: RolloutResult, rollout: RolloutRecord | None) -> dict[str, str]:
    took = f"{result.wall_s:.1f} s"
    if rollout is not None:
        timing = rollout.timing
        took += f": {timing.model_s:.1f} s waiting for the model, {timing.execution_s:.1f} s running programs"
    asked = f"{result.turns}, {result.prompt_tokens:,} + {result.completion_tokens:,} tokens" if result.turns else ""
    cost = "unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
    return {
        "Seed": f"{result.seed}, attempt {result.attempt}",
        "Started": result.started_at,
        "Agent took": took,
        "Verifier": "" if result.verifier_s is None else f"{result.verifier_s:.1f} s",
        "Answers": asked,
        "Cost": cost if result.turns else "",
        "Ended by": result.ended_by or "",
        "Accepted": f"{result.submissions_accepted} of {result.budget}; {result.submissions_rejected} refused",
        "Backend": result.backend,
        "Flags": ", ".join(map(str, result.flags)),
        "Rollout": result.rollout_id,
        "Build": result.task_digest[:16],
        "Split": "" if result.split == "test" else f"{result.split}, instance {result.instance}: no score",
        "Questions": result.slice or "",
        "Resumed": f"{result.resumed} times; what was said before is not below" if result.resumed else "",
        "Page made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, by OpenFinGym {__version__}",
    }


def _metrics(result: RolloutResult) -> Iterator[tuple[str, str, str, str]]:
    """(name, value, standard error, the baseline's) of each figure."""
    if result.skill is not None:
        yield "skill", _number(result.skill), _span(result.skill_interval), "0"
    if result.total is not None:
        yield "total", _number(result.total), _span(result.total_interval), _number(result.baseline_total)
    for name, value in result.metrics.items():
        error = result.standard_errors.get(name)
        spread = "" if error is None else f"± {_number(error)}"
        yield name, _number(value), spread, _number(result.baseline_metrics.get(name))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _span(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.3g} to {interval[1]:.3g}"


def _first_line(told: Block | None) -> str:
    """The beginning of what a call was answered."""
    text = " ".join(str(told.text).split()) if told else ""
    return text if len(text) <= 200 else text[:199] + "…"
