"""How a run is doing: a bar on a terminal, a line a rollout elsewhere."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Self, TextIO

from openfingym.results import RolloutResult
from openfingym.rollouts.spec import RolloutSpec

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_REASON = 160
"""Characters of a reason that a line has room for."""


class LiveProgress:
    """Tells people on stderr; a context manager, and an engine's watch."""

    def __init__(self, total: int, done: int, *, stream: TextIO | None = None) -> None:
        """Begin with ``done`` rollouts of ``total`` finished before."""
        self._stream = stream or sys.stderr
        self._total, self._finished = total, done
        self._states: Counter[str] = Counter()
        self._running: dict[str, str] = {}
        self._bar: Progress | None = None
        self._row: TaskID | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(file=self._stream))
            self._row = self._bar.add_task("", total=self._total, completed=self._finished)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def started(self, spec: RolloutSpec) -> None:
        """See :class:`openfingym.rollouts.engine.Watch`."""
        self._running[spec.identity] = spec.title
        self._draw()

    def again(self, spec: RolloutSpec, reason: str) -> None:
        """See :class:`openfingym.rollouts.engine.Watch`."""
        self._running.pop(spec.identity, None)
        self._say(f"{spec.title}: failed for a reason of ours, will be tried again: {_line(reason)}")
        self._draw()

    def ended(self, spec: RolloutSpec, result: RolloutResult) -> None:
        """See :class:`openfingym.rollouts.engine.Watch`."""
        self._running.pop(spec.identity, None)
        self._finished += 1
        self._states[result.state] += 1
        how = f"scored, skill {result.skill:.3g}" if result.skill is not None else f"{result.state}: {_line(result.reason or '')}"
        if self._bar is None or result.state == "error":
            self._say(f"{self._finished}/{self._total} {spec.title}: {how} ({result.wall_s:.1f} s)")
        self._draw()

    def _say(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            self._stream.write(line + "\n")
            self._stream.flush()

    def _draw(self) -> None:
        if self._bar is not None and self._row is not None:
            states = ", ".join(f"{number} {state}" for state, number in sorted(self._states.items()))
            oldest = next(iter(self._running.values()), "")
            running = f"{len(self._running)} running, such as {oldest}" if oldest else "none running"
            self._bar.update(self._row, completed=self._finished, description=" | ".join(part for part in (states, running) if part))


def _line(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= SHOWN_REASON else text[: SHOWN_REASON - 1] + "…"
