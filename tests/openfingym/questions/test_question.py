"""Questions and answers: what is taken, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import SubmissionError, UsageError
from openfingym.questions import Question, moment_ns, utc_text
from openfingym.questions.answer import read_answer

ASKED = Question(
    id="rain",
    text="Does it rain?",
    form="probability",
    generated_ns=1,
    deadline_ns=2,
    evaluation_ns=3,
    provider="manual",
)
LEVEL = replace(ASKED, id="level", form="value", unit="USD")


@pytest.mark.parametrize(
    "wrong",
    [
        {"deadline_ns": 1},
        {"evaluation_ns": 2},
        {"id": "no spaces"},
        {"text": ""},
        {"form": "guess"},
        {"form": "choice"},
        {"outcomes": ("yes", "no")},
        {"form": "choice", "outcomes": ("yes", "yes")},
        {"form": "quantiles"},
        {"form": "quantiles", "levels": (0.5, 0.5)},
        {"form": "interval", "levels": (0.1, 0.9)},
        {"form": "interval", "levels": (1.0,)},
        {"unit": "USD"},
        {"form": "value", "measure": "size"},
        {"query": {"x": math.nan}},
    ],
)
def test_a_question_that_contradicts_itself_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        replace(ASKED, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "document", "problem"),
    [
        (ASKED, {"probability": 1.01}, "out-of-range"),
        (ASKED, {"probability": math.nan}, "out-of-range"),
        (ASKED, {"probability": True}, "malformed-submission"),
        (ASKED, {"probability": "0.5"}, "malformed-submission"),
        (ASKED, {"probability": 0.5, "submitted_at": 1}, "malformed-submission"),
        (ASKED, 0.5, "malformed-submission"),
        (LEVEL, {"value": 1.0}, "malformed-submission"),
        (LEVEL, {"value": 1.0, "unit": "EUR"}, "wrong-unit"),
        (LEVEL, {"value": math.inf, "unit": "USD"}, "out-of-range"),
        (replace(LEVEL, form="quantiles", levels=(0.1, 0.9)), {"quantiles": [2, 1], "unit": "USD"}, "out-of-range"),
        (replace(LEVEL, form="quantiles", levels=(0.1, 0.9)), {"quantiles": [1], "unit": "USD"}, "wrong-shape"),
        (replace(LEVEL, form="interval", levels=(0.9,)), {"interval": [2, 1], "unit": "USD"}, "out-of-range"),
        (replace(ASKED, form="choice", outcomes=("a", "b")), {"choice": "c"}, "out-of-range"),
        (
            replace(ASKED, form="probabilities", outcomes=("a", "b")),
            {"probabilities": {"a": 0.5, "b": 0.6}},
            "out-of-range",
        ),
        (replace(ASKED, form="probabilities", outcomes=("a", "b")), {"probabilities": {"a": 1.0}}, "wrong-shape"),
    ],
)
def test_what_is_no_answer_is_refused_by_name(question: Question, document: object, problem: str) -> None:
    with pytest.raises(SubmissionError) as caught:
        read_answer(question, document)
    assert caught.value.problem == problem
    assert question.id in str(caught.value)


@given(st.floats(0.0, 1.0))
def test_a_probability_is_taken_to_the_last_bit(p: float) -> None:
    assert read_answer(ASKED, {"probability": p}).values == (p,)


def test_a_question_survives_its_own_json() -> None:
    asked = replace(LEVEL, form="quantiles", levels=(0.1, 0.5), query={"symbol": "BTCUSDT", "strike": 3.5})
    assert Question.from_dict(asked.to_dict()) == asked
    assert Question.from_dict(asked.to_dict()).digest == asked.digest


@given(st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)), st.integers(-14, 14))  # noqa: DTZ001  # a zone follows
def test_a_moment_is_the_same_in_every_zone(moment: datetime, hours: int) -> None:
    there = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    assert moment_ns(there) == moment_ns(there.astimezone(UTC)) == moment_ns(utc_text(moment_ns(there)))


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="time zone"):
        moment_ns("2026-11-26T00:00:00")


@pytest.mark.parametrize("said", ["2026-12-01T00:00:00", 1.5, True, None])
def test_a_time_that_is_no_integer_is_named(said: object) -> None:
    document = {"id": "q", "text": "?", "form": "probability", "provider": "manual", "query": {}, "deadline_ns": said}
    with pytest.raises(UsageError, match=r"deadline_ns of question 'q' is .*; expected an integer, nanoseconds"):
        Question.from_dict(document)
