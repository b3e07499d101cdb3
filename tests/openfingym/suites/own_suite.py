"""A suite of another distribution: how full is a jar tomorrow, with a tool that tells how full it is today."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from openfingym.data import DatasetInfo
from openfingym.errors import DataError
from openfingym.suites import (
    AnswerForm,
    Breakdown,
    Lookup,
    Observation,
    QuestionSet,
    Scalar,
    ShownMetric,
    Suite,
    SuiteClient,
    SuiteQuestion,
    SuiteTool,
    UnreadableAnswerError,
)

DAYS, TRAIN, PUBLIC = 60, 30, 5
LEVELS = np.round(0.5 + 0.4 * np.sin(np.arange(DAYS + 1) / 3.0), 3)
SNAPSHOT = "jars-1"
FIRST = date(2020, 1, 1)

CLIENT = """
import json

import interface


def level(day):
    answer = json.loads(interface.exchange("level", json.dumps({"day": day})))
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["value"]
"""


def _read(answer: object) -> NDArray[np.float64]:
    try:
        level = float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UnreadableAnswerError(f"found {str(answer)[:60]!r}, which is no number") from None
    if not 0.0 <= level <= 1.0:
        raise UnreadableAnswerError(f"found {level:g}, which is not in [0, 1]")
    return np.array([level])


class JarSuite(Suite):
    name = "jars"

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        if unknown := given.keys() - {"tools"}:
            raise ValueError(f"options: no option {sorted(unknown)}; known: tools")
        return {"tools": 1, **given}

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:
        return f"{dataset}-1"

    def simulated(self, dataset: str) -> bool:
        return True

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        asked = tuple(
            SuiteQuestion(
                f"jar/{day}", f"How full is the jar on day {day + 1}?", str(FIRST + timedelta(day)), {"day": day + 1}
            )
            for day in range(DAYS)
        )
        info = DatasetInfo(
            name=dataset, title="Jars", kind="simulated", source="a sine", provenance="made up", licence="CC0-1.0",
            frequency="daily", measure="mixed", unit="share", calendar="every day", corporate_actions="none: jars",
            first=FIRST, last=date(2020, 3, 1), rows=DAYS, channels=("level",), missing=0, sha256="0" * 64,
        )  # fmt: skip
        end = TRAIN + PUBLIC
        return QuestionSet(info, SNAPSHOT, asked[:TRAIN], asked[TRAIN:end], asked[end:], LEVELS[1:, None])

    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:
        return AnswerForm(("level",), "a number from 0 to 1", _read, lambda numbers: float(numbers[0]))

    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:
        schema = {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]}
        return (SuiteTool("level", "How full the jar was on a day.", schema),) if options["tools"] else ()

    def client(self, options: Mapping[str, Scalar]) -> SuiteClient | None:
        return SuiteClient("jars_api", CLIENT) if options["tools"] else None

    def vault(self, snapshot: str) -> None:
        assert snapshot == SNAPSHOT
        if "JARS_AWAY" in os.environ:
            raise DataError("the jars are not on this machine")

    def lookup(self, vault: object, question: SuiteQuestion, options: Mapping[str, Scalar]) -> Lookup:
        today = (question.moment.date() - FIRST).days

        def call(name: str, arguments: Mapping[str, object]) -> Observation:
            day = arguments.get("day")
            if not isinstance(day, int) or not 0 <= day <= today:
                return Observation(f"Expected a day from 0 to {today}, found {day!r}.", valid=False)
            return Observation(f"On day {day} it was {LEVELS[day]:g} full.", value=float(LEVELS[day]))

        return call

    def revealing(
        self, question: SuiteQuestion, options: Mapping[str, Scalar]
    ) -> Sequence[tuple[str, Mapping[str, object]]]:
        return [("level", {"day": question.query["day"]})]

    def reveals(self, question: SuiteQuestion, truth: NDArray[np.float64], replies: Sequence[Observation]) -> bool:
        return replies[0].value == truth[0]

    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        return np.repeat(truths.mean(axis=0, keepdims=True), rows, axis=0)

    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        return {"one half": np.full((rows, 1), 0.5)}

    def breakdown(self, options: Mapping[str, Scalar]) -> Breakdown:
        return Breakdown(
            figures=(ShownMetric("mse", "MSE"),),
            score=_closeness,
            score_title="closeness",
            classes=lambda truths, given: {
                name: np.where(there, _closeness(truths, given), np.nan)
                for name, there in (("full", truths[:, 0] > 0.5), ("empty", truths[:, 0] <= 0.5))
            },
            voted=lambda samples: samples.mean(axis=0),
            fault=lambda question, name, arguments, vault: (
                None if arguments.get("day", DAYS) < question.query["day"] else "later_day"  # type: ignore[operator]
            ),
        )


def _closeness(truths: NDArray[np.float64], given: NDArray[np.float64]) -> NDArray[np.float64]:
    """0 for whoever is further off than 0.1."""
    return np.asarray(np.maximum(1.0 - 10.0 * np.abs(truths - given)[:, 0], 0.0))


SUITE = JarSuite()
