"""The questions of MIRAI's tasks."""

from __future__ import annotations

from datetime import datetime

import pytest

from openfingym.suites.mirai.simulated import NAME
from openfingym.suites.mirai.splits import HORIZONS
from openfingym.suites.mirai.suite import SUITE


@pytest.mark.parametrize("horizon", HORIZONS)
def test_no_answer_that_is_given_was_unknown_when_the_first_question_is_asked(horizon: int) -> None:
    """Training answers lie in every container: they must not tell what happened behind the time of a question."""
    found = SUITE.questions(NAME, SUITE.options({"horizon": horizon}))
    known = min(datetime.fromisoformat(question.as_of) for question in found.private)
    given = [*found.train, *found.public]
    assert len(found.train) == 300
    assert len(found.private) == 100
    assert all(str(question.query["date"]) <= f"{known:%Y-%m-%d}" for question in given)
    asked = [question.as_of for question in found.private]
    assert asked == sorted(asked), "tools of a later question show what became of the earlier ones"
