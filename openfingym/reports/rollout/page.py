"""The page of a rollout: what its agent said and did, what it submitted, and how it was scored, in one HTML file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import StoreError
from openfingym.files.strange import MEGABYTE, parse_json, read_bytes
from openfingym.reports.page import KINDS_OF_RUNS, document, kind_notice
from openfingym.reports.rollout.drawings import draw
from openfingym.reports.rollout.texts import TextBlock, arguments, text_block, text_blocks
from openfingym.results.result import ISOLATION_IN_WORDS
from openfingym.results.run_folder import OUTPUT, TRAJECTORY
from openfingym.trajectory.files import read_rollout
from openfingym.verifiers.backing import as_believed, receipt_in_words
from openfingym.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from markupsafe import Markup

    from openfingym.results import RolloutResult
    from openfingym.results.result import Verdict
    from openfingym.trajectory import RolloutRecord
    from openfingym.trajectory.record import Turn

LOG = "log.jsonl"
"""The verifier's log of the rollout, in its folder."""
LIMIT = 64 * MEGABYTE
"""Most bytes of a log, a program or its output."""
DRAWN = 3
"""How many submissions are drawn, the last ones."""
NAMED = 200
"""Most failed calls that are named at the top; all but the first of them are folded."""
SHOWN = 6
"""How many failed calls are named at the top without being folded."""
VERDICTS: Mapping[Verdict, str] = {
    "better": "better than the baseline",
    "worse": "worse than the baseline",
    "no difference": "not to be told from the baseline on these hidden rows",
}


@dataclass(frozen=True)
class CallShown:
    """A call of a tool, as the page shows it."""

    anchor: str
    """Anchor of the call on the page."""
    name: str
    """Name of the tool."""
    beside: str
    """The short arguments, which stand beside the name."""
    below: list[TextBlock]
    """The long arguments, which stand below it."""
    result: TextBlock | None
    """The result that the model was shown; None if it was shown none."""
    failed: bool
    """Whether the call failed."""
    took: str
    """How long the call took; empty if that is not recorded."""


@dataclass(frozen=True)
class MessageShown:
    """A message of the conversation, as the page shows it."""

    anchor: str
    """Anchor of the message on the page."""
    heading: str
    """Who wrote the message; an answer of the model has its number."""
    taken: str
    """Time, tokens and cost of an answer of the model; empty for other messages."""
    reasoning: TextBlock | None
    """The reasoning that the model showed; None if it showed none."""
    said: list[TextBlock]
    """The text of the message."""
    calls: list[CallShown]
    """The calls of tools in it."""
    reward: str
    """The reward that followed from it; empty if there was none."""
    folded: bool
    """Whether it only states the task, as the messages before the model's first answer do."""


@dataclass(frozen=True)
class SubmissionShown:
    """A submission that the verifier accepted or refused, as the page shows it."""

    heading: str
    """Number of the submission, or why it was refused."""
    taken: str
    """How long after the start of the run it came; empty if that is not known."""
    anchor: str
    """Anchor of the message during which it came; empty if that is not known."""
    where: str
    """Heading of that message; empty if it is not known."""
    feedback: list[TextBlock]
    """The feedback that the agent was shown."""
    drawings: list[Markup]
    """Drawings of its values."""
    note: str
    """A remark on the drawings; empty for none."""


def render(folder: Path, result: RolloutResult, *, back: str = "") -> str:
    """Render the page of a run.

    Args:
        folder: folder of the run, which may be a stranger's.
        result: the result of the run.
        back: relative address of the page that links here; empty if there is none.

    Returns:
        A self-contained HTML document, which runs no script and loads nothing.
    """
    result = as_believed(folder, result)
    rollout, damage = _rollout(folder)
    messages = list(_messages(rollout)) if rollout else []
    submissions = list(_submissions(folder, result, rollout, messages))
    program, output = (_text(folder, name) for name in ("program.py", OUTPUT))
    # A conversation with calls has the programs and their output in it.
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
        who=result.agent_label + (f" with {result.model}" if result.model else ""),
        back=back,
        notice=kind_notice(result.data_kind, KINDS_OF_RUNS),
        verdict=VERDICTS[result.verdict] if result.verdict else "",
        facts=_facts(folder, result, rollout),
        metrics=list(_metrics(result)),
        damage=damage,
        failed=len(failures),
        failures=failures[:SHOWN],
        folded_failures=failures[SHOWN:NAMED],
        submissions=submissions,
        messages=messages,
        program=None if talked or not program else text_block(program, "python"),
        output=None if talked or not output.strip() else text_block(output),
    )


def _rollout(folder: Path) -> tuple[RolloutRecord | None, str]:
    """The record of the conversation, None if there is none; and why it cannot be read if there is a file."""
    # A link that leads nowhere is a damaged record, and not a missing one.
    if not os.path.lexists(folder / TRAJECTORY):
        return None, ""
    try:
        return read_rollout(folder / TRAJECTORY), ""
    except StoreError as error:
        return None, str(error)


def _text(folder: Path, name: str) -> str:
    """The text of a file of the run, or why it cannot be read; empty if there is no such file."""
    # A program may print any bytes.
    try:
        return read_bytes(folder, name, LIMIT).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{name}: {error.strerror}"


def _messages(rollout: RolloutRecord) -> Iterator[MessageShown]:
    """The messages of a conversation, in order."""
    answers = 0
    for index, turn in enumerate(rollout.messages):
        answers += turn.role == "assistant"
        calls = []
        for number, call in enumerate(turn.tool_calls, 1):
            beside, below = arguments(call)
            took = "" if call.wall_s is None else f"{call.wall_s:.2f} s"
            answer = None if call.result is None else text_block(call.result)
            calls.append(CallShown(f"call-{index}-{number}", call.name, beside, below, answer, call.failed, took))
        rewards = [reward for reward in rollout.rewards if reward.message == index]
        steps = f"step {rewards[0].step}" + (f" to {rewards[-1].step}" if len(rewards) > 1 else "") if rewards else ""
        yield MessageShown(
            f"message-{index}",
            f"Answer {answers}" if turn.role == "assistant" else turn.role.capitalize(),
            _taken(turn),
            text_block(turn.reasoning, code=False) if turn.reasoning else None,
            text_blocks(turn.content),
            calls,
            f"reward of {steps}: {sum(reward.reward for reward in rewards):.6g}" if rewards else "",
            folded=not answers,
        )


def _taken(turn: Turn) -> str:
    """Time, tokens and cost of an answer; empty for a message that no model wrote."""
    generation = turn.generation
    if generation is None:
        return ""
    parts = [f"{generation.latency_s:.1f} s", f"{generation.usage.prompt:,} + {generation.usage.completion:,} tokens"]
    if generation.cost_usd is not None:
        parts.append(f"${generation.cost_usd:.4f}")
    if generation.attempts > 1:
        parts.append(f"{generation.attempts} attempts")
    if generation.finish_reason not in {"stop", "tool_calls"}:
        parts.append(f"ended by {generation.finish_reason}")
    return ", ".join(parts)


def _submissions(
    folder: Path, result: RolloutResult, rollout: RolloutRecord | None, messages: list[MessageShown]
) -> Iterator[SubmissionShown]:
    """What was submitted according to the verifier's log; of a sequential task, what was played."""
    # The folder may be a stranger's: every value of the log is checked before it is used.
    try:
        entries = [
            entry for entry in _entries(folder) if entry.get("event") in {"accepted", "practised", "played", "rejected"}
        ]
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
    """A moment of the log, which has it in nanoseconds, in seconds since 1970; 0 if it is not a valid one."""
    return at / 1e9 if isinstance(at, int) and 0 <= at < 2**63 else 0.0


def _after(started_at: str, at: float) -> str:
    """How long after the start of the run a moment was, in words; empty if that is not known."""
    try:
        began = datetime.fromisoformat(started_at).timestamp()
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{at - began:.1f} s after the start" if at >= began else ""


def _message_at(rollout: RolloutRecord, at: float) -> int:
    """Index of the answer of the model during which a moment was, in seconds since 1970; -1 if there is none."""
    before = [n for n, turn in enumerate(rollout.messages) if turn.at is not None and turn.at.timestamp() <= at]
    return before[-1] if before and rollout.messages[before[-1]].role == "assistant" else -1


def _entries(folder: Path) -> list[dict[str, Any]]:
    """The entries of the verifier's log; none if there is no log.

    Raises:
        OSError: the log cannot be read.
        ValueError: a line of it is not JSON.
    """
    try:
        lines = read_bytes(folder, LOG, LIMIT).decode("utf-8").splitlines()
    except FileNotFoundError:
        return []
    documents = (parse_json(line) for line in lines)
    entries = [document.get("entry") for document in documents if isinstance(document, dict)]
    return [entry for entry in entries if isinstance(entry, dict)]


def _facts(folder: Path, result: RolloutResult, rollout: RolloutRecord | None) -> dict[str, str]:
    """What the heading says, by its names; the template leaves empty values out."""
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
        "In isolation": ISOLATION_IN_WORDS[result.isolation],
        "Receipt": receipt_in_words(folder, result),
        "Flags": ", ".join(map(str, result.flags)),
        "Rollout": result.rollout_id,
        "Build": result.task_digest[:16],
        "Split": "" if result.split == "test" else f"{result.split}, instance {result.instance}: no score",
        "Questions": result.slice or "",
        "Resumed": f"{result.resumed} times; what was said before is not below" if result.resumed else "",
        "Page made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, by OpenFinGym {__version__}",
    }


def _metrics(result: RolloutResult) -> Iterator[tuple[str, str, str, str]]:
    """Name, value, spread and the baseline's value of each figure, as text; what is not known is empty."""
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


def _first_line(answer: TextBlock | None) -> str:
    """The beginning of the answer to a call, in one line."""
    text = " ".join(str(answer.text).split()) if answer else ""
    return text if len(text) <= 200 else text[:199] + "…"
