"""The questions of MIRAI's tasks."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.suites.registry import find_suite
from openfingym_suites.mirai import objects
from openfingym_suites.mirai.simulated import NAME
from openfingym_suites.mirai.splits import HORIZONS
from openfingym_suites.mirai.suite import SUITE


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


def test_four_months_are_those_of_one_month_one_after_another() -> None:
    found = SUITE.questions(NAME, SUITE.options({"month": "2023-11..2024-02"}))
    last = SUITE.questions(NAME, SUITE.options({}))
    assert [question.tags[0] for question in found.private[::100]] == ["2023-11", "2023-12", "2024-01", "2024-02"]
    assert found.private[300:] == last.private
    assert (found.truths[-100:] == last.truths[-100:]).all()
    known = min(question.as_of for question in found.private)
    assert all(str(question.query["date"]) <= known[:10] for question in (*found.train, *found.public))


def test_the_simulated_world_alone_is_drawn_anew() -> None:
    assert SUITE.renewable(NAME)
    assert not SUITE.renewable("mirai")
    other = find_suite("finsearch")
    assert not other.renewable("finsearch")
    with pytest.raises(UsageError, match="cannot draw the world 'finsearch' anew"):
        other.renewed("finsearch", other.options({}), 1)


def test_questions_for_countries_are_answered_by_lists() -> None:
    found = SUITE.questions(NAME, SUITE.options({"asks": "objects"}))
    form = SUITE.form(SUITE.options({"asks": "objects"}))
    assert (len(found.train), len(found.public), len(found.private)) == (300, 20, 100)
    assert found.truths.shape == (420, len(form.labels))
    assert set(np.unique(found.truths)) == {0.0, 1.0}
    assert found.truths.any(axis=1).all()
    for question, truth in zip(found.questions, found.truths, strict=True):
        assert {"head", "relation", "date", "today"} == question.query.keys()
        true = form.write(truth)
        assert not any(f"ISOCode({code})" in question.text for code in true if code != question.query["head"])
        assert ((form.read(true) > 0) == (truth > 0)).all()
    ranked = form.read('I think so.\nFinal Answer: ["usa", "QQQ", "AUS", "USA"]')
    assert form.write(ranked) == ["USA", "AUS"]
    assert sorted(ranked[ranked > 0]) == [0.5, 1.0]
    prior = SUITE.prior(found.truths[:300], 2)
    assert (form.read(form.write(prior[0])) == prior[1]).all()
    for answer in ('{"01": ["010"]}', "I do not know.", '["QQQ"]'):
        with pytest.raises(objects.UnreadableAnswerError):
            form.read(answer)


@pytest.mark.parametrize(
    "wrong", [{"asks": "subjects"}, {"month": "2024-02..2023-11"}, {"month": "2024-2"}, {"month": ".."}, {"month": 3}]
)
def test_options_that_are_none_are_refused(wrong: dict[str, str | int | float]) -> None:
    with pytest.raises(ValueError, match=r"options\.(asks|month)"):
        SUITE.options(wrong)
