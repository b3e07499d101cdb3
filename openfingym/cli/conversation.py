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
"""The most lines of one text that are shown while an agent is at work."""
CHARACTERS = 1000
"""Length to which a line is cut where not all lines are shown."""
ARGUMENT = 60
"""The most characters of an argument that is shown beside the name of its tool."""


class LiveConversation:
    """Prints what an agent says and does while it is at work; its :meth:`heard` is a listener of a launcher."""

    def __init__(self, console: Console) -> None:
        """Print on ``console``."""
        self._console = console
        self._answers = 0
        """Number of the model's answers so far."""
        self._results: dict[int, int] = {}
        """Number of results of calls that were printed, by the number of their message."""
        self._lock = threading.Lock()

    def heard(self, index: int, turn: Turn) -> None:
        """Print a message with its calls, and the results that have come since; called again for each further result.

        Messages before the first answer, which state the task, are left out.

        Args:
            index: number of the message in the conversation.
            turn: the message as it is so far.
        """
        # If the reader of the terminal has gone, the agent still goes on.
        with self._lock, contextlib.suppress(OSError):
            if index not in self._results:
                self._results[index] = 0
                self._answers += turn.generation is not None
                if self._answers:
                    _print(self._console, _said(turn, self._answers, LIVE_LINES))
                for call in turn.tool_calls:
                    _print(self._console, _call(call, LIVE_LINES))
            ended = [call for call in turn.tool_calls if call.result is not None]
            for call in ended[self._results[index] :]:
                _print(self._console, _result(call, LIVE_LINES))
            self._results[index] = len(ended)


def print_conversation(console: Console, rollout: RolloutRecord, lines: int | None) -> None:
    """Print all messages of a rollout.

    Args:
        console: the console to print on.
        rollout: the record of the rollout.
        lines: the most lines that are shown of one text; None for all.
    """
    answers = 0
    for index, turn in enumerate(rollout.messages):
        answers += turn.generation is not None
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
        lines: the most lines that are shown; None for all.
    """
    _print(console, _block(text, lines))


def _print(console: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        console.print(line, soft_wrap=True)


def _said(turn: Turn, answer: int, lines: int | None) -> Iterator[Text]:
    """A message with its heading: who says it, and of a model's answer its number, time, tokens and reasoning."""
    heading, made = Text("\n"), turn.generation
    if made is None:  # also answers that a command line made up as examples
        heading.append(turn.role, style="bold")
    else:
        heading.append(f"answer {answer}", style="bold cyan")
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
    """The arguments of a call for people: the short ones on one line, and the long ones.

    Args:
        written: the arguments as the model wrote them, which need not be JSON.
    """
    try:
        arguments = parse_json(written or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return "", [written]
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    long = [key for key, text in texts.items() if "\n" in text or len(text) > ARGUMENT]
    beside = (f"{one_line(key, ARGUMENT)}={printable(text)}" for key, text in texts.items() if key not in long)
    return ", ".join(beside), [texts[key] for key in long]


def _result(call: ToolUse, lines: int | None) -> Iterator[Text]:
    """The result of a call with its time; nothing where there is none yet."""
    if call.result is None:
        return
    took = f" after {call.wall_s:.1f} s" if call.wall_s is not None else ""
    how = f"{one_line(call.name, ARGUMENT)}{' failed' if call.failed else ''}{took}"
    yield Text("  ← ").append(how, style="bold red" if call.failed else "dim")
    yield from _block(call.result, lines)


def _block(text: str, lines: int | None, style: str = "") -> Iterator[Text]:
    """A text, indented.

    Args:
        text: the text; control characters are made harmless.
        lines: the most lines that are shown: the middle of a longer text is left out, and the end of a very long line;
            None for everything.
        style: style of the lines, as ``rich`` has it.
    """
    shown = printable(text.strip("\n")).split("\n")
    # Two lines more are shown whole: the line that says what is left out would take their place.
    if lines is not None and len(shown) > lines + 2:
        first, last = lines - lines // 3, lines // 3
        shown = [*shown[:first], f"… {len(shown) - first - last} more lines", *shown[-last:]]
    for line in shown:
        cut = line
        if lines is not None and len(line) > CHARACTERS:
            cut = f"{line[:CHARACTERS]} … {len(line) - CHARACTERS} more characters"
        yield Text("    ").append(cut, style=style)
