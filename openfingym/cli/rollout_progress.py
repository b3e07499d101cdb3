"""Progress of a run: on a terminal a bar with a line below it, elsewhere one line for each rollout."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from openfingym.cli.printable import one_line, say
from openfingym.cli.render import TerminalProgress, with_interval
from openfingym.results import RolloutResult
from openfingym.rollouts.engine import RunWatcher
from openfingym.rollouts.spec import RolloutSpec

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from openfingym.rollouts.preparation import Work
    from openfingym.rollouts.selection import Selection

SHOWN_REASON = 160
"""The most characters of a reason in a line."""
DRAWN_A_SECOND = 4
"""How often the bar is drawn anew in a second."""


class RunReporter(RunWatcher):
    """Shows on stderr how a run goes, from its preparation on; a context manager, and the run's watcher."""

    def __init__(self, out: Path, *, quiet: bool) -> None:
        """Show nothing yet.

        Args:
            out: folder of the run.
            quiet: whether nothing is printed, and only the run's work and time are noted.
        """
        self._out, self._quiet = out, quiet
        self._steps = TerminalProgress(enabled=not quiet, lines=True)
        self._live: LiveProgress | None = None
        self._stack = contextlib.ExitStack()
        self.work: Work | None = None
        """The rollouts of the run; None until they are known."""
        self._prepared_at = 0.0
        """When the run was prepared, by the monotonic clock."""

    def __enter__(self) -> Self:
        self._stack.enter_context(self._steps)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def wall_s(self) -> float:
        """Seconds since the run was prepared."""
        return time.monotonic() - self._prepared_at

    def preparing(self, step: str) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self._steps(step)

    def prepared(self, selection: Selection, work: Work) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self.announce(selection, work)
        self._prepared_at = time.monotonic()
        if work.missing and not self._quiet:
            self._live = self._stack.enter_context(LiveProgress(len(work.specs), len(work.done)))

    def announce(self, selection: Selection, work: Work) -> None:
        """Print which pairs of the plan are left out, and how much is finished already.

        Args:
            selection: the tasks and agents that the plan selects.
            work: the rollouts of the run.
        """
        self._stack.close()  # ends the spinner of the preparation, which would draw over these lines
        self.work = work
        if self._quiet:
            return
        for agent, tasks in selection.skipped.items():
            say(f"left out: {agent} is not for {', '.join(tasks)}", err=True)
        if work.done:
            say(f"{len(work.done)} of {len(work.specs)} rollouts are finished already in {self._out}", err=True)

    def started(self, spec: RolloutSpec) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        if self._live is not None:
            self._live.started(spec)

    def again(self, spec: RolloutSpec, reason: str) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        if self._live is not None:
            self._live.again(spec, reason)

    def ended(self, spec: RolloutSpec, result: RolloutResult) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        if self._live is not None:
            self._live.ended(spec, result)

    def stopping(self) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        if self._live is not None:
            self._live.stopping()

    def notice(self, line: str) -> None:
        """Print what concerns more than one rollout, such as an endpoint that does not answer; may be called in any
        thread.
        """
        if self._live is not None:
            self._live.say(line)
        elif not self._quiet:
            say(line, err=True)


class LiveProgress:
    """The progress of rollouts on stderr: a bar on a terminal, else lines; a context manager."""

    def __init__(self, total: int, done: int, *, stream: TextIO | None = None) -> None:
        """Show nothing yet.

        Args:
            total: number of rollouts of the run.
            done: how many of them were finished before.
            stream: where to print; None for stderr.
        """
        self._stream = stream or sys.stderr
        self._total, self._before, self._finished = total, done, done
        self._states: Counter[str] = Counter()
        self._running: dict[str, tuple[str, float]] = {}
        """Title and beginning of each rollout that runs, by identity; times are by the monotonic clock."""
        self._cost_usd = 0.0
        self._entered = time.monotonic()
        self._first: float | None = None
        """When the first rollout of this process began, from which the remaining time is estimated."""
        self._stopping = False
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self._entered = time.monotonic()
        if self._stream.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream)
            self._live = Live(
                console=console, get_renderable=self._render, refresh_per_second=DRAWN_A_SECOND, transient=True
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, spec: RolloutSpec) -> None:
        """A rollout has begun."""
        now = time.monotonic()
        self._first = self._first or now
        self._running[spec.identity] = spec.title, now

    def again(self, spec: RolloutSpec, reason: str) -> None:
        """A rollout failed for a reason of ours, and will be tried again."""
        self._running.pop(spec.identity, None)
        self.say(f"{spec.title}: failed for a reason of ours, will be tried again: {one_line(reason, SHOWN_REASON)}")

    def ended(self, spec: RolloutSpec, result: RolloutResult) -> None:
        """A rollout's result is kept."""
        self._running.pop(spec.identity, None)
        self._finished += 1
        self._states[result.state] += 1
        self._cost_usd += result.cost_usd or 0.0
        if self._live is None or result.state == "error":
            # Beside a bar, which counts the others, only failures of ours have a line.
            reason, left = one_line(result.reason or "", SHOWN_REASON), self._left()
            how = (
                f"scored, skill {with_interval(result.skill, result.skill_interval)}"
                if result.skill is not None
                else f"{result.state}: {reason}"
            )
            self.say(
                f"{self._finished}/{self._total} {spec.title}: {how} ({result.wall_s:.1f} "
                f"s{f'; {left}' if left else ''})"
            )

    def stopping(self) -> None:
        """Say that the request to stop was received."""
        if not self._stopping:
            self.say("stopping: what runs now is ended and not kept, what is finished stays")
        else:
            self.say(
                "still stopping; nothing would be lost by `kill -9`, but what runs now would be left for the next run "
                "to remove"
            )
        self._stopping = True

    def say(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if self._live is not None:
            self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            with contextlib.suppress(OSError):  # the reader of stderr has gone; the run goes on for its folder
                self._stream.write(line + "\n")
                self._stream.flush()

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        counts = Table.grid(padding=(0, 2, 0, 0), expand=True)
        counts.add_column(ratio=1)
        elapsed = f"{duration(time.monotonic() - self._entered)} so far"
        bar = ProgressBar(total=self._total, completed=self._finished)
        counts.add_row(
            bar, f"{self._finished}/{self._total}", ", ".join(part for part in (elapsed, self._left()) if part)
        )
        return Group(counts, Text(self._status(), no_wrap=True, overflow="ellipsis"))

    def _status(self) -> str:
        """The line below the bar: states, cost, and the rollout that has run longest."""
        # Copies, since the line is drawn in a thread of its own while rollouts begin and end.
        running = list(self._running.values())
        parts = [", ".join(f"{number} {state}" for state, number in sorted(self._states.copy().items()))]
        if self._cost_usd:
            parts.append(f"${self._cost_usd:.4f}")
        if running:
            title, since = min(running, key=lambda title_and_time: title_and_time[1])
            parts.append(f"{len(running)} running, the longest {title} ({duration(time.monotonic() - since)})")
        elif self._first is None and not self._stopping:
            parts.append("starting")
        return ("stopping; " if self._stopping else "") + "; ".join(part for part in parts if part)

    def _left(self) -> str:
        """An estimate of the remaining time, as if the other rollouts take as long as those that this process has run;
        empty where there is none.
        """
        ran = self._finished - self._before
        if not ran or self._first is None or self._finished == self._total or self._stopping:
            return ""
        return f"about {duration((time.monotonic() - self._first) * (self._total - self._finished) / ran)} left"


def duration(seconds: float) -> str:
    """A time for people: ``8 s``, ``3 min 5 s``, ``2 h 40 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
