import numpy as np
import pytest

from openfingym.answers import Part, Reference, decide
from openfingym.answers.packing import pack, unpack
from openfingym.suites.suite import UnreadableAnswerError
from openfingym.suites.text_answers import text_form

REVENUE = Reference((Part("revenue", "number", 62.5712, "million USD", decimals=2),))
RATES = Reference((Part("USD/CNY", "number", 7.1871, decimals=4), Part("EUR/CNY", "number", 8.1234, decimals=4)))


@pytest.mark.parametrize("answer", [62.57, "62.57", " $62.57 million ", {"revenue": 62.57}, [62.57]])
def test_an_answer_of_any_json_type_is_kept_as_text_and_decided_later(answer: object) -> None:
    row = text_form(REVENUE.schema()).read(answer)
    assert row.shape == (750,)
    assert decide(REVENUE, unpack(row)).outcome == "right"


@pytest.mark.parametrize("reference", [REVENUE, RATES, Reference((Part("x", "yes_no", False),))])
def test_of_a_truth_a_right_answer_is_written(reference: Reference) -> None:
    form = text_form(reference.schema())
    assert decide(reference, unpack(form.read(form.write(pack(reference.to_json()))))).outcome == "right"


@pytest.mark.parametrize("answer", ["", None, [], "  \n", "a" * 3001, "a\0b", "\ud800", {"a": "万" * 1000}])
def test_what_is_no_answer_is_said_to_be_none(answer: object) -> None:
    with pytest.raises(UnreadableAnswerError):
        text_form().read(answer)


def test_an_agent_is_told_the_form_of_this_question() -> None:
    assert "million USD, 2 decimals" in text_form(REVENUE.schema()).expected
    assert "USD/CNY" in text_form(RATES.schema(), language="zh").expected
    assert text_form(width=20).labels[-1] == "bytes 76-79"
    assert np.array_equal(text_form(width=20).read("no"), text_form(width=20).read(False))
