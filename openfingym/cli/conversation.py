"""Printing what an agent says and does, while it happens and afterwards."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from openfingym.cli.printable import one_line, printable
from openfingym.files.strange import parse_json

if TYPE_CHECKING:
    from openfingym.trajectory import RolloutRecord
    from openfingym.trajectory.record import ToolUse, Turn

LIVE_LINES = 8
"""Lines of one text that are shown while an agent is at work."""
CHARACTERS = 1000
"""Length to which a line is cut where not all lines are shown."""
ARGUMENT = 60
"""Characters of an argument that stand beside the name of its tool."""


class LiveConversation:
    """Prints what an agent says and does as it does; its :meth:`heard` is a listener of a launcher."""

    def __init__(self, console: Console) -> None:
        """Print on ``console``."""
        self._console = console
        self._answers = 0
        self._results: dict[int, int] = {}
        self._lock = threading.Lock()

    def heard(self, index: int, turn: Turn) -> None:
        """A message, and what came of its calls so far; the messages that only state the task are left out."""
        # Where nobody reads any more, the agent goes on.
        with self._lock, contextlib.suppress(OSError):
            if index not in self._results:
                self._results[index] = 0
                self._answers += turn.role == "assistant"
                if self._answers:
                    _print(self._console, _said(turn, self._answers, LIVE_LINES))
                for call in turn.tool_calls:
                    _print(self._console, _call(call, LIVE_LINES))
            told = [call for call in turn.tool_calls if call.result is not None]
            for call in told[self._results[index] :]:
                _print(self._console, _result(call, LIVE_LINES))
            self._results[index] = len(told)


def print_conversation(console: Console, rollout: RolloutRecord, lines: int | None) -> None:
    """Print all messages of a rollout.

    Args:
        console: the console to print on.
        rollout: the record of the rollout.
        lines: the most that are shown of one text; None for all.
    """
    answers = 0
    for index, turn in enumerate(rollout.messages):
        answers += turn.role == "assistant"
        _print(console, _said(turn, answers, lines))
        for call in turn.tool_calls:
            _print(console, _call(call, lines))
            _print(console, _result(call, lines))
        rewards = [reward for reward in rollout.rewards if reward.message == index]
        if rewards:
            steps = f"step {rewards[0].step}" + (f" to {rewards[-1].step}" if len(rewards) > 1 else "")
            _print(
                console, [Text(f"    reward of {steps}: {sum(reward.reward for reward in rewards):.6g}", style="green")]
            )


def print_block(console: Console, text: str, lines: int | None) -> None:
    """Print a text of several lines, indented.

    Args:
        console: the console to print on.
        text: text that a model, a program or a stranger wrote; control characters are made harmless.
        lines: the most that are shown; None for all.
    """
    _print(console, _block(text, lines))


def _print(console: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        console.print(line, soft_wrap=True)


def _said(turn: Turn, answer: int, lines: int | None) -> Iterator[Text]:
    heading = Text("\n")
    if turn.role != "assistant":
        yield heading.append(turn.role, style="bold")
        yield from _block(turn.content, lines)
        return
    heading.append(f"answer {answer}", style="bold cyan")
    if turn.generation is not None:
        made = turn.generation
        taken = f"  {made.latency_s:.1f} s, {made.usage.prompt} + {made.usage.completion} tokens"
        heading.append(
            taken if made.finish_reason in {"stop", "tool_calls"} else f"{taken}, ended by {made.finish_reason}",
            style="dim",
        )
    yield heading
    if turn.reasoning:
        yield from _block(turn.reasoning, lines, style="dim italic")
    if turn.content.strip():
        yield from _block(turn.content, lines)


def _call(call: ToolUse, lines: int | None) -> Iterator[Text]:
    """The name of the tool, its short arguments beside it and the long ones below."""
    beside, below = _arguments(call.arguments)
    line = Text("  → ").append(one_line(call.name, ARGUMENT), style="bold yellow")
    yield line.append(f" {beside}" if beside else "")
    for text in below:
        yield from _block(text, lines, style="yellow")


def _arguments(written: str) -> tuple[str, list[str]]:
    try:
        given = parse_json(written or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return "", [written]
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
    long = [key for key, text in texts.items() if "\n" in text or len(text) > ARGUMENT]
    beside = (f"{one_line(key, ARGUMENT)}={printable(text)}" for key, text in texts.items() if key not in long)
    return ", ".join(beside), [texts[key] for key in long]


def _result(call: ToolUse, lines: int | None) -> Iterator[Text]:
    if call.result is None:
        return
    took = f" after {call.wall_s:.1f} s" if call.wall_s is not None else ""
    how = f"{one_line(call.name, ARGUMENT)}{' failed' if call.failed else ''}{took}"
    yield Text("  ← ").append(how, style="bold red" if call.failed else "dim")
    yield from _block(call.result, lines)


def _block(text: str, lines: int | None, style: str = "") -> Iterator[Text]:
    """A text, indented; where so many lines are to be shown, its middle is left out, and the end of a line that goes on
    and on.
    """
    found = printable(text.strip("\n")).split("\n")
    if lines is not None and len(found) > lines + 2:
        first, last = lines - lines // 3, lines // 3
        found = [*found[:first], f"… {len(found) - first - last} more lines", *found[-last:]]
    for line in found:
        if lines is not None and len(line) > CHARACTERS:
            # A long line is shown cut.
            line = f"{line[:CHARACTERS]} … {len(line) - CHARACTERS} more characters"  # noqa: PLW2901
        yield Text("    ").append(line, style=style)
