"""What was written down when the agents of a season ran: methods and models, costs, and what could not be read.

A line of JSON for each question and try, in ``<folder of the series>/<week>/records/<agent>.jsonl``. What was forecast
is in the ledger; what is here is never scored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError
from openfingym.models.cutoffs import require_cutoff

if TYPE_CHECKING:
    from openfingym.reports.forecasts.columns import ForecasterId

FOLDER = "records"
METHODS: Mapping[str, str] = {
    "T": "LLM (Thinking)",
    "T+S": "LLM (Thinking + Search)",
    "Deep Research": "Deep Research",
    "program": "Programs",
    "": "Method not stated",
}
"""Classes of methods in the order of the paper's tables, by what records call them."""
FAILED = "error"
"""State of a try that failed for a reason of ours, which alone does not count as taking part in a round."""
UNRECORDED = frozenset({"naive", "market-implied"})
"""Programs that ticks enter themselves, of which there are no records."""


OPERATORS = frozenset({"operator", "local"})
"""Principals whose agents are run with records; others may use the same names."""


@dataclass(frozen=True)
class MethodOf:
    """How a forecaster forecasts, as it was when it ran."""

    method: str = ""
    """One of :data:`METHODS`."""
    models: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    cutoff: str | None = None
    """The latest of the cut-offs of its models; None where one is not known."""


@dataclass
class AgentRecords:
    """What is on record of one agent and version."""

    methods: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    endpoints: set[str] = field(default_factory=set)
    cutoffs: set[str | None] = field(default_factory=set)
    weeks: set[str] = field(default_factory=set)
    """In which it answered something, readable or not."""
    states: dict[str, str] = field(default_factory=dict)
    """The last state of each question, by its id."""
    tokens: int | None = 0
    """Of all tries; None, as the next, where one try does not say."""
    cost_usd: float | None = 0.0
    seconds: float | None = 0.0


class SeasonRecords:
    """What is on record of the agents of a season, by agent and version."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the records of a series.

        Args:
            folder: folder of the series; None where there is none.
        """
        self._agents: dict[tuple[str, str], AgentRecords] = {}
        self.damaged = 0
        """Lines that could not be read, such as the last of one that is being written."""
        self.proposals: Mapping[str, str] = {} if folder is None else _proposals(folder)
        """What was proposed of each question of the series' queue of verdicts, by its id."""
        for path in sorted(folder.glob(f"*/{FOLDER}/*.jsonl")) if folder is not None else ():
            for line in _lines(path):
                if line is None or not self._add(path.parent.parent.name, line):
                    self.damaged += 1

    def of(self, who: ForecasterId) -> AgentRecords | None:
        """What is on record of a forecaster of the operator's; None where there is nothing."""
        if who.principal not in OPERATORS:
            return None
        return self._agents.get((who.agent, who.version))

    def weeks_tried(self, who: ForecasterId) -> frozenset[str]:
        """Weeks in which it answered something, readable or not."""
        found = self.of(who)
        return frozenset() if found is None else frozenset(found.weeks)

    def method(self, who: ForecasterId) -> MethodOf:
        """How a forecaster forecasts."""
        found = self.of(who)
        if found is None:
            return MethodOf("program" if who.agent in UNRECORDED and who.principal in OPERATORS else "")
        method = next(iter(found.methods)) if len(found.methods) == 1 else ""
        known = sorted(one for one in found.cutoffs if one)
        cutoff = known[-1] if known and None not in found.cutoffs else None
        return MethodOf(
            method if method in METHODS else "", tuple(sorted(found.models)), tuple(sorted(found.endpoints)), cutoff
        )

    def _add(self, week: str, line: Mapping[str, Any]) -> bool:
        """Add a line; False where it says not what it is about."""
        question, agent, version, state = (line.get(key) for key in ("question", "agent", "version", "state"))
        if not all(isinstance(one, str) for one in (question, agent, version, state)):
            return False
        found = self._agents.setdefault((str(agent), str(version)), AgentRecords())
        # Who says neither a method nor a model is a program.
        found.methods.add(str(line.get("method") or ("" if line.get("model") else "program")))
        if isinstance(line.get("model"), str):
            found.models.add(line["model"])
            found.cutoffs.add(_cutoff(line.get("cutoff")))
        if isinstance(line.get("endpoint"), str):
            found.endpoints.add(line["endpoint"])
        if state != FAILED:
            found.weeks.add(week)
        found.states[str(question)] = str(state)
        tokens = [line.get(key) for key in ("prompt_tokens", "completion_tokens")]
        found.tokens = _more(found.tokens, tokens[0], tokens[1])
        found.cost_usd = _more(found.cost_usd, line.get("cost_usd"))
        found.seconds = _more(found.seconds, line.get("seconds"))
        return True


def _proposals(folder: Path) -> dict[str, str]:
    from openfingym.suites.findeepforecast.truth.verdicts import VerdictQueue

    return {one.question: str(one.proposal.get("outcome") or "") for one in VerdictQueue.of_series(folder).cases()}


def _more(total: Any, *values: Any) -> Any:
    """A sum; None from the first value that is not known on."""
    if total is None or not all(isinstance(one, int | float) and math.isfinite(one) for one in values):
        return None
    return total + sum(values)


def _cutoff(text: object) -> str | None:
    """A cut-off; None of what is none."""
    try:
        return require_cutoff(text) if isinstance(text, str) else None
    except UsageError:
        return None


def _lines(path: Path) -> Iterator[Mapping[str, Any] | None]:
    """The objects of a file; None of each line that is none."""
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        yield None
        return
    for text in texts:
        try:
            found = json.loads(text) if text.strip() else None
        except ValueError:
            found = None
        if isinstance(found, dict):
            yield found
        elif text.strip():
            yield None
