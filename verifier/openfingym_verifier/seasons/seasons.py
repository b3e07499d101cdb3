"""Seasons: what is open, what is entered, and what is told at the close. Belongs to the event loop; the ledger holds
them, memory mirrors them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from openfingym.task.exposure import hide_the_same
from openfingym_verifier.clock import now_ns, utc
from openfingym_verifier.disclosure.ladder import worst_case_bits
from openfingym_verifier.ledger.rows import FIRST_SEASON, SeasonRecord
from openfingym_verifier.ledger.storage import EVENT_BYTES
from openfingym_verifier.ledger.writer import HEAVY_BYTES
from openfingym_verifier.policy import LADDER_ANSWERS
from openfingym_verifier.principals import require_name
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.events import hidden_instruments
from openfingym_verifier.seasons.events import Entered, SeasonClosed, SeasonOpened
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor

    from openfingym.results.result import SeasonKind
    from openfingym_verifier.disclosure.ladder import Ladders
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.storage import Storage
    from openfingym_verifier.principals import Caller
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.scoring.truth import HiddenTask
    from openfingym_verifier.seasons.events import Closing


class Seasons:
    """The seasons of one verifier."""

    def __init__(self, ledger: Ledger, tasks: Mapping[str, HiddenTask], storage: Storage, threads: Executor) -> None:
        """Read the seasons from the ledger; a new ledger begins its first one, which is sealed.

        Args:
            ledger: the ledger of the verifier.
            tasks: the tasks that it holds, by name.
            storage: counts what participants have stored.
            threads: where the ledger is read.
        """
        self._threads = threads
        self._storage = storage
        self._ledger = ledger
        self._tasks = tasks
        if not ledger.seasons():
            ledger.writer.run(SeasonOpened(SeasonRecord(FIRST_SEASON, now_ns(), None)).apply)
        known = ledger.seasons()
        self.by_name: dict[str, SeasonRecord] = {season.name: season for season in known}
        """Every season as it is by now, by name."""
        self._latest = known[-1].name
        self._exposures = ledger.exposures()
        self._retired = {fold.fold: fold for fold in ledger.retired()}

    @property
    def latest(self) -> SeasonRecord:
        """The latest season, open or closed."""
        return self.by_name[self._latest]

    def require_open(self) -> SeasonRecord:
        """The season in which rollouts are created.

        Raises:
            Problem: ``season-closed``: no season is open.
        """
        if self.latest.closed_ns is not None:
            raise Problem("season-closed", f"Season {self.latest.name!r} is closed, and no other was opened yet.")
        return self.latest

    def require_untold(self, task: HiddenTask) -> None:
        """Check that participants may play a task's hidden data in this season; blocks while they are hashed.

        Raises:
            Problem: ``fold-retired``: an earlier season has told of them.
        """
        if (told := self._told_in(task)) is not None and task.name not in self.latest.reused:
            raise Problem("fold-retired", f"{_was_told(task.name, told)} Play another task.")

    def _told_in(self, task: HiddenTask) -> str | None:
        """The season that has told of a task's hidden data, or of days of its instruments that it hides; None where
        none has.
        """
        # Of a task that is asked for first the arrays are hashed, which is for nothing where nothing was told.
        for fold in self._retired.values():
            known = self._exposures.get(fold.task_digest or "")
            if fold.fold in {task.hidden_digest, task.manifest.digest} or (
                known is not None and task.given_exposure is not None and hide_the_same(known, task.given_exposure)
            ):
                return fold.season
        return None

    def retired_tasks(self) -> list[str]:
        """Names of the tasks that participants cannot play in the latest season."""
        return [
            task.name
            for task in self._tasks.values()
            if self._told_in(task) is not None and task.name not in self.latest.reused
        ]

    async def enter(self, rollout: Rollout, caller: Caller, *, primary: bool) -> bool:
        """Enter a rollout in its season; returns whether it is the primary entry.

        Args:
            rollout: the rollout.
            caller: whoever asks; its rollout it is.
            primary: whether it is to be the primary entry; the first one is anyway.

        Raises:
            Problem: ``forbidden``, ``season-closed``, ``malformed-request``, ``entries-exhausted`` or ``too-late``: it
                cannot be entered.
        """
        row = rollout.row
        if caller.operator:
            raise Problem("forbidden", "Participants enter their rollouts; the operator's are on no board.")
        season = self.by_name[row.season]
        if season.closed_ns is not None:
            raise Problem("season-closed", f"Season {season.name!r} is closed; what was entered in it stays.")
        if (
            row.split != "test"
            or row.question_range is not None
            or row.session is not None
            or row.questions is not None
        ):
            raise Problem("malformed-request", "Only a rollout of a task as it is can be entered.")
        entered = await in_threads(self._threads, self._ledger.entry, row.id)
        if entered is not None and (entered or not primary):
            return entered
        # A task that was rebuilt since is not at hand; what was begun of it is.
        task = rollout.task
        if await in_threads(self._threads, self._ledger.episodes, row.id) or (task is not None and task.sequential):
            raise Problem(
                "malformed-request",
                f"Whoever plays {row.task} is shown what came of its answers, so nobody chooses among its rollouts: "
                "the one whose private fold was begun first is the entry.",
            )
        # Each change is in the log for good, and a participant may change its mind without end.
        with self._storage.taking(row.principal, EVENT_BYTES):
            outcome = await self._ledger.writer.submit(Entered(row.id, now_ns(), primary).apply)
            if isinstance(outcome, Problem):
                raise outcome
        return bool(outcome)

    async def open(self, name: str, kind: SeasonKind, reused: Sequence[str] = ()) -> SeasonRecord:
        """Begin another season.

        Args:
            name: name of the season.
            kind: whether anything of the private fold is told before the close.
            reused: names of tasks whose hidden data are used again, although an earlier season has told of them.

        Raises:
            Problem: ``malformed-request``: the name or a task cannot be used; ``season-open``: the last season is not
                closed; ``name-taken``; ``fold-retired``: there is no task whose hidden data were not told.
        """
        require_name(name)
        if self.latest.closed_ns is None:
            raise Problem("season-open", f"Season {self.latest.name!r} is open; close it first.")

        def told_tasks() -> dict[str, str]:
            return {task.name: season for task in self._tasks.values() if (season := self._told_in(task)) is not None}

        told = await in_threads(self._threads, told_tasks)
        if unknown := sorted(set(reused) - told.keys()):
            raise Problem("malformed-request", f"No season has told of the hidden data of {', '.join(unknown)} here.")
        if self._tasks and told.keys() - set(reused) == self._tasks.keys():
            one = min(told)
            raise Problem(
                "fold-retired",
                f"{_was_told(one, told[one])} So it is with every task of this verifier: serve other tasks, or tasks "
                "with new hidden data; or name those to use again (--reuse TASK), which the board will say.",
            )
        opened = SeasonRecord(name, now_ns(), None, kind, tuple(sorted(set(reused))))
        if not await self._ledger.writer.submit(SeasonOpened(opened).apply):
            raise Problem("name-taken", f"There was a season named {name!r}; choose another name.")
        self.by_name[name], self._latest = opened, name
        return opened

    async def close(self) -> Closing:
        """End the season; returns what is told, and what is retired.

        Raises:
            Problem: ``season-closed``: the season is closed already.
        """
        season, at_ns = self.require_open(), now_ns()
        # From here on nothing that ends in this season is told by its ladder: what is written behind the close stays
        # held.
        self.by_name[season.name] = replace(season, closed_ns=at_ns)
        try:
            # Stated as heavy: the statements run in the writer's thread, not on the event loop.
            closing = await self._ledger.writer.submit(SeasonClosed(season, at_ns).apply, size=HEAVY_BYTES + 1)
        except BaseException:
            self.by_name[season.name] = season
            raise
        if closing is None:
            raise Problem("season-closed", f"Season {season.name!r} is closed already.")
        found = cast("Closing", closing)
        self._exposures = await in_threads(self._threads, self._ledger.exposures)
        # Another mapping, since threads may be reading this one.
        self._retired = {**self._retired, **{fold.fold: fold for fold in found.retired}}
        return found

    def summary(self, ladders: Ladders) -> dict[str, object]:
        """What is told of the latest season while it is open, and after."""
        season = self.latest
        closed = None if season.closed_ns is None else utc(season.closed_ns)
        entries = self._ledger.entries(season.name)
        climbed = {
            task.name: (task.name, task.hidden_digest, *hidden_instruments(task.given_exposure))
            for task in self._tasks.values()
        }
        return {
            "name": season.name,
            "opened_at": utc(season.opened_ns),
            "closed_at": closed,
            "kind": season.kind,
            "reused": season.reused,
            "retired": self.retired_tasks(),
            "primary_entries": sum(entry.primary for entry in entries),
            "ladder_bits": worst_case_bits() if season.kind == "disclosing" else 0.0,
            "ladders": [
                {
                    "task": name,
                    "top": ladders.top(fold),
                    "answers": ladders.answers(fold),
                    "most": LADDER_ANSWERS,
                }
                for name, fold in climbed.items()
                if season.kind == "disclosing"
            ],
        }


def _was_told(task: str, season: str) -> str:
    return f"The hidden data of {task} were told at the close of season {season!r}, so that it is retired."
