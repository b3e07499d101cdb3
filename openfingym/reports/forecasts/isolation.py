"""What of a board's forecasters ran in isolation, as the records of ``openfingym rounds run`` state it.

Whoever plays a series states it, in the records of its own machine. No verifier can know it, and of participants who
send their forecasts from elsewhere it is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from openfingym.reports.forecasts.columns import ForecasterId
from openfingym.reports.forecasts.recorded import OPERATORS, UNRECORDED, record_files, record_lines
from openfingym.results import Isolation
from openfingym.results.result import ISOLATED, LEAST_ISOLATED
from openfingym.rounds.book import series_folders
from openfingym.rounds.passes import first_name

MARK = " (outside)"
"""Stands behind the name of a forecaster of which something ran outside isolation."""
NAMED = 5
"""Most forecasters that a sentence names."""


class StatedIsolation:
    """What is stated of the isolation of each agent in each round."""

    def __init__(self) -> None:
        self._stated: dict[tuple[str, str, str], Isolation | None] = {}

    @classmethod
    def of_series(cls, folders: Iterable[Path]) -> StatedIsolation:
        """What the records of some series state.

        Args:
            folders: folders of the series.
        """
        stated = cls()
        for folder in folders:
            for path in record_files(folder):
                for line in record_lines(path):
                    if line is not None:
                        stated.add(line)
        return stated

    def add(self, line: Mapping[str, Any]) -> None:
        """Take what a line of records states; of several lines of an agent in a round, the least counts."""
        question, agent, version = (line.get(key) for key in ("question", "agent", "version"))
        if not (isinstance(question, str) and isinstance(agent, str) and isinstance(version, str)):
            return
        # The id of a question begins with the name of its round, which has two parts.
        key = (_round_of(question), agent, version)
        isolation = _known(line.get("isolation"))
        self._stated[key] = _least((isolation, self._stated.get(key, isolation)))

    def of(self, who: ForecasterId, rounds: Iterable[str]) -> Isolation | None:
        """The least that is stated of a forecaster in some rounds; None where it is not known of one of them.

        Args:
            who: the forecaster.
            rounds: names of the rounds in which it answered something.
        """
        if who.principal not in OPERATORS:
            return None
        if who.agent in UNRECORDED:
            return "none"
        stated = [self._stated.get((first_name(name), who.agent, who.version)) for name in rounds]
        return _least(stated) if stated else None


def is_reference(who: ForecasterId) -> bool:
    """Whether a forecaster is one of those that every tick enters; anybody else may use their names."""
    return who.agent in UNRECORDED and who.principal in OPERATORS


def is_isolated(who: ForecasterId, isolation: Isolation | None) -> bool:
    """Whether a forecaster stays on a board of isolated ones, as the references do, with which others are compared."""
    return is_reference(who) or isolation in ISOLATED


def with_marks(
    names: Mapping[ForecasterId, str], isolations: Mapping[ForecasterId, Isolation | None]
) -> dict[ForecasterId, str]:
    """The names of forecasters as tables show them: with a mark where something ran outside isolation."""
    return {who: with_mark(name, isolations[who]) for who, name in names.items()}


def with_mark(name: str, isolation: Isolation | None) -> str:
    """The name of a forecaster as tables and lines show it: with a mark where something ran outside isolation."""
    return f"{name}{MARK}" if isolation == "outside" else name


def isolations_of_series(question: str, made: Sequence[Mapping[str, Any]]) -> list[Isolation | None]:
    """What ran in isolation of some forecasts of a question, by the records of its series; None where it is not known.

    Args:
        question: the id of the question.
        made: the forecasts, each with its ``agent``, ``version`` and ``principal``.
    """
    in_round = _round_of(question)
    stated = StatedIsolation.of_series(
        folder for folder in series_folders() if folder.name == in_round.partition("/")[0]
    )
    people = [ForecasterId(*(str(one.get(name, "")) for name in ForecasterId._fields)) for one in made]
    return [stated.of(who, [in_round]) for who in people]


def isolation_notes(
    isolations: Mapping[ForecasterId, Isolation | None], left_out: Iterable[ForecasterId]
) -> tuple[str, ...]:
    """What a board says about the isolation of its forecasters.

    Args:
        isolations: what is stated of each forecaster on the board.
        left_out: the forecasters that are not on it, since something of them ran outside isolation, or may have.
    """
    notes = []
    if outside := [who for who, isolation in isolations.items() if isolation == "outside"]:
        notes.append(
            f"{_some(outside)} ran outside isolation, with the rights of whoever launched "
            f"{'it' if len(outside) == 1 else 'them'}, who could read hidden data; --isolated-only leaves such out."
        )
    if unknown := [who for who, isolation in isolations.items() if isolation is None]:
        notes.append(f"Of {_some(unknown)} it is not known what ran outside isolation.")
    if left := list(left_out):
        are = "is" if len(left) == 1 else "are"
        notes.append(f"{_some(left)} ran outside isolation, or may have, and {are} in no figure.")
    return tuple(notes)


def _some(forecasters: Iterable[ForecasterId]) -> str:
    """How many forecasters, and the names of the first of them."""
    agents = [who.agent for who in forecasters]
    named = sorted(set(agents))
    more = ", ..." if len(named) > NAMED else ""
    return f"{len(agents):,} forecaster{'s' * (len(agents) != 1)} ({', '.join(named[:NAMED])}{more})"


def _round_of(question: str) -> str:
    """The name that the round of a question has in the first pass."""
    return "/".join(first_name(question).split("/")[:2])


def _known(value: object) -> Isolation | None:
    """A statement as one of the words that are known; None for anything else."""
    return next((word for word in get_args(Isolation) if word == value), None)


def _least(stated: Iterable[Isolation | None]) -> Isolation | None:
    """The least of several statements."""
    return min(stated, key=LEAST_ISOLATED.index)
