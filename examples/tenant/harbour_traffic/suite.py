"""The suite: how many ships will wait tomorrow, with a tool that tells how many waited on days that are over."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from harbour_traffic.world import DAYS, FIRST_DAY, NAME, WORLD
from openfingym.data import DatasetInfo
from openfingym.errors import DataError
from openfingym.suites import (
    AnswerForm,
    Example,
    Lookup,
    Observation,
    QuestionSet,
    Scalar,
    Suite,
    SuiteQuestion,
    SuiteTool,
    UnreadableAnswerError,
)
from openfingym.vault import Vault

TRAIN, PUBLIC = 60, 10
MOST = 100
"""Most ships that have room to wait."""


@functools.cache
def _vault() -> Vault:
    return WORLD.simulate()


class HarbourSuite(Suite):
    """How many ships will wait at the end of the next day."""

    name = NAME
    example = Example(
        data="the simulated harbour of the suite 'harbour-traffic'",
        description="Forecast how many ships will wait, in a simulated harbour.",
        asks="Forecast how many ships will wait at the end of the next day.",
        panel="a harbour",
        dataset=NAME,
        contract='suite = "harbour-traffic"\nunit = "ships"\nlow = 0.0\nhigh = 100.0\n',
        metrics=(("mse", 1.0),),
    )

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """There are none."""
        if given:
            raise ValueError(f"options: no option {sorted(given)[0]!r}; the suite has none")
        return {}

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:
        """Changes with the world."""
        return f"{dataset}-1"

    def simulated(self, dataset: str) -> bool:
        """All of it is made up."""
        return True

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        """A question for each day from the second on, asked when the day before is over."""
        if dataset != NAME:
            raise DataError(f"no harbour is named {dataset!r}; there is {NAME}")
        vault = _vault()
        days = [FIRST_DAY + timedelta(days=number) for number in range(1, DAYS)]
        asked = tuple(
            SuiteQuestion(
                f"harbour/{day}",
                f"SIMULATED: how many ships will wait in the harbour at the end of {day}?",
                datetime.combine(day, time(0), UTC).isoformat(),
                {"day": day.isoformat()},
            )
            for day in days
        )
        rows = vault.as_of(datetime.combine(days[-1] + timedelta(days=1), time(0), UTC)).rows("traffic", order=("day",))
        truths = np.array([[float(row["waiting"])] for row in rows[1:]])
        info = DatasetInfo(
            name=NAME,
            title="Ships that wait in a simulated harbour",
            kind="simulated",
            source="harbour_traffic.world, a simulator",
            provenance=f"vault {vault.digest[:12]}; no ship exists",
            licence="CC0-1.0",
            frequency="daily",
            measure="mixed",
            unit="ships",
            calendar="every day",
            corporate_actions="none",
            first=days[0],
            last=days[-1],
            rows=len(days),
            channels=("waiting",),
            missing=0,
            sha256=vault.digest,
        )
        end = TRAIN + PUBLIC
        return QuestionSet(info, vault.digest, asked[:TRAIN], asked[TRAIN:end], asked[end:], truths)

    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:
        """A number of ships."""
        return AnswerForm(("ships",), f"a number from 0 to {MOST}", _read, lambda numbers: float(numbers[0]))

    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:
        """The traffic of a day."""
        schema = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
        return (SuiteTool("traffic", "Ships that arrived on a day, and that waited at its end.", schema),)

    def vault(self, snapshot: str) -> Vault:
        """The harbour's vault."""
        vault = _vault()
        if vault.digest != snapshot:
            raise DataError(
                f"the questions are about the harbour {snapshot[:12]}; this version makes {vault.digest[:12]}"
            )
        return vault

    def lookup(self, vault: Vault | None, question: SuiteQuestion, options: Mapping[str, Scalar]) -> Lookup:
        """The tool as of the time of the question: a view shows nothing that became known later."""
        assert vault is not None
        view = vault.as_of(question.moment)

        def call(name: str, arguments: Mapping[str, object]) -> Observation:
            if name != "traffic":
                return Observation(f"There is no tool {name[:40]!r}; call traffic.", valid=False)
            try:
                day = date.fromisoformat(str(arguments.get("day")))
            except ValueError:
                found = str(arguments.get("day"))[:40]
                return Observation(f"Expected a day such as {FIRST_DAY}, found {found!r}.", valid=False)
            row = view.latest("traffic", day=day)
            if row is None:
                return Observation(f"Nothing is known of {day} yet.", valid=False)
            value = {"arrivals": row["arrivals"], "waiting": row["waiting"]}
            return Observation(f"On {day}, {row['arrivals']} ships arrived, and {row['waiting']} waited.", value=value)

        return call

    def revealing(
        self, question: SuiteQuestion, options: Mapping[str, Scalar]
    ) -> Sequence[tuple[str, Mapping[str, object]]]:
        """The call that tells the truth, once it is known."""
        return [("traffic", {"day": question.query["day"]})]

    def reveals(self, question: SuiteQuestion, truth: NDArray[np.float64], replies: Sequence[Observation]) -> bool:
        """Whether it does."""
        value = replies[0].value
        return isinstance(value, dict) and value["waiting"] == truth[0]

    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """The mean of what is known."""
        return np.repeat(truths.mean(axis=0, keepdims=True), rows, axis=0)

    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """An empty harbour."""
        return {"none": np.zeros((rows, 1))}


def _read(answer: object) -> NDArray[np.float64]:
    try:
        ships = float(str(answer).strip())
    except ValueError:
        raise UnreadableAnswerError(f"found {str(answer)[:60]!r}, which is no number") from None
    if not 0.0 <= ships <= MOST:
        raise UnreadableAnswerError(f"found {ships:g}, which is not from 0 to {MOST}")
    return np.array([ships])


SUITE = HarbourSuite()
