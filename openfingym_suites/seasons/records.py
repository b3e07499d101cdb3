"""Reading the records of a season's agents: methods and models, costs, and answers that could not be read.

Forecasts are scored from the ledger, never from these records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError
from openfingym.models.cutoffs import require_cutoff
from openfingym.reports.forecasts.isolation import StatedIsolation
from openfingym.reports.forecasts.recorded import OPERATORS, UNRECORDED, record_files, record_lines
from openfingym.rounds.passes import first_name

if TYPE_CHECKING:
    from openfingym.reports.forecasts.columns import ForecasterId

METHODS: Mapping[str, str] = {
    "T": "LLM (Thinking)",
    "T+S": "LLM (Thinking + Search)",
    "Deep Research": "Deep Research",
    "program": "Programs",
    "": "Method not stated",
}
"""Headings of the classes of methods in the order of the paper's tables, by their names in records."""
FAILED = "error"
"""State of a try that failed by an infrastructure error, which does not count as taking part in a round."""


@dataclass(frozen=True)
class MethodOf:
    """The method of a forecaster, as it was when it ran."""

    method: str = ""
    """Class of the method, one of :data:`METHODS`."""
    models: tuple[str, ...] = ()
    """Names of the models that it asked."""
    endpoints: tuple[str, ...] = ()
    """Base URLs of the endpoints at which it asked them."""
    cutoff: str | None = None
    """The latest of the cut-offs of its models; None if one of them is not known."""


@dataclass
class AgentRecords:
    """The records of one version of an agent, added up."""

    methods: set[str] = field(default_factory=set)
    """The methods that its lines state."""
    models: set[str] = field(default_factory=set)
    """The models that it asked."""
    endpoints: set[str] = field(default_factory=set)
    """The endpoints at which it asked them."""
    cutoffs: set[str | None] = field(default_factory=set)
    """The cut-offs of its models, None for a line that states none."""
    weeks: set[str] = field(default_factory=set)
    """ISO weeks in which it answered something, readable or not."""
    states: dict[str, str] = field(default_factory=dict)
    """The last state of each question, by the question's id."""
    tokens: int | None = 0
    """Tokens of all tries; None if one try does not state them."""
    cost_usd: float | None = 0.0
    """Cost of all tries in US dollars; None if one try does not state it."""
    seconds: float | None = 0.0
    """Seconds of all tries; None if one try does not state them."""


class SeasonRecords:
    """The records of the agents of a season, by agent and version."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the records of a series.

        Args:
            folder: folder of the series; None if there is none.
        """
        self._agents: dict[tuple[str, str], AgentRecords] = {}
        self.damaged = 0
        """How many lines could not be read, such as one that is being written."""
        self.proposals: Mapping[str, str] = {} if folder is None else _proposals(folder)
        """The verdict that was proposed for each question in the series' queue of verdicts, by the question's id."""
        self.isolation = StatedIsolation()
        """What the lines state of the isolation of the agents."""
        for path in record_files(folder) if folder is not None else ():
            for line in record_lines(path):
                if line is None or not self._add(path.parent.parent.name, line):
                    self.damaged += 1

    def of(self, who: ForecasterId) -> AgentRecords | None:
        """The records of a forecaster of the operator; None if there are none, or if it is somebody else's."""
        if who.principal not in OPERATORS:
            return None
        return self._agents.get((who.agent, who.version))

    def weeks_tried(self, who: ForecasterId) -> frozenset[str]:
        """ISO weeks in which a forecaster answered something, readable or not."""
        known = self.of(who)
        return frozenset() if known is None else frozenset(known.weeks)

    def method(self, who: ForecasterId) -> MethodOf:
        """The method of a forecaster."""
        known = self.of(who)
        if known is None:
            return MethodOf("program" if who.agent in UNRECORDED and who.principal in OPERATORS else "")
        # An agent that states several methods has none that could be named.
        method = next(iter(known.methods)) if len(known.methods) == 1 else ""
        stated = sorted(cutoff for cutoff in known.cutoffs if cutoff)
        latest = stated[-1] if stated and None not in known.cutoffs else None
        return MethodOf(
            method if method in METHODS else "", tuple(sorted(known.models)), tuple(sorted(known.endpoints)), latest
        )

    def _add(self, week: str, line: Mapping[str, Any]) -> bool:
        """Add a line, unless it does not say what it is about; returns whether it was added."""
        question, agent, version, state = (line.get(key) for key in ("question", "agent", "version", "state"))
        if not all(isinstance(value, str) for value in (question, agent, version, state)):
            return False
        self.isolation.add(line)
        records = self._agents.setdefault((str(agent), str(version)), AgentRecords())
        # What states neither a method nor a model is a program.
        records.methods.add(str(line.get("method") or ("" if line.get("model") else "program")))
        if isinstance(line.get("model"), str):
            records.models.add(line["model"])
            records.cutoffs.add(_cutoff(line.get("cutoff")))
        if isinstance(line.get("endpoint"), str):
            records.endpoints.add(line["endpoint"])
        if state != FAILED:
            records.weeks.add(week)
        # Lines are in the order of the tries: the last one says how the question ended.
        records.states[first_name(str(question))] = str(state)
        tokens = [line.get(key) for key in ("prompt_tokens", "completion_tokens")]
        records.tokens = _more(records.tokens, tokens[0], tokens[1])
        records.cost_usd = _more(records.cost_usd, line.get("cost_usd"))
        records.seconds = _more(records.seconds, line.get("seconds"))
        return True


def _proposals(folder: Path) -> dict[str, str]:
    """The verdict that was proposed for each question in the queue of a series, by the question's id."""
    from openfingym_suites.findeepforecast.truth.verdicts import VerdictQueue

    return {case.question: str(case.proposal.get("outcome") or "") for case in VerdictQueue.of_series(folder).cases()}


def _more(total: Any, *values: Any) -> Any:
    """A sum with more values; None from the first value on that is not known."""
    if total is None or not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
        return None
    return total + sum(values)


def _cutoff(text: object) -> str | None:
    """A valid cut-off; None if this is none."""
    try:
        return require_cutoff(text) if isinstance(text, str) else None
    except UsageError:
        return None
