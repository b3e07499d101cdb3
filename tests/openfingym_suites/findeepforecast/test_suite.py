"""The suite's questions, answers and baselines, on a small world; no full season is made here."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest

from openfingym.answers import decide
from openfingym.answers.packing import pack
from openfingym.digests import sha256_of_json
from openfingym.metrics.words import decided_accuracy, forecast_brier, grouped_accuracy
from openfingym.models.messages import Message
from openfingym.models.testing.conversation import CompletionRequest
from openfingym.suites.asking import Approach
from openfingym.suites.suite import UnreadableAnswerError
from openfingym_suites.findeepforecast.breakdown import failure_modes, forecast_breakdown
from openfingym_suites.findeepforecast.forecasting.consensus import PROGRAM as CONSENSUS
from openfingym_suites.findeepforecast.forecasting.naive import PROGRAM as NAIVE
from openfingym_suites.findeepforecast.forecasting.seasonal import PROGRAM as SEASONAL
from openfingym_suites.findeepforecast.generation.protocols import Stratum
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.proofs import prove
from openfingym_suites.findeepforecast.seasons import _document, _parts, generate_parts, season_parts
from openfingym_suites.findeepforecast.suite import SUITE, WIDTH, number_of, reference_of, suite_question
from openfingym_suites.findeepforecast.world.simulated import SimulatedWorld
from openfingym_suites.stand_in.forecasts import forecast_reply
from tests.openfingym_suites.findeepforecast.season.small_world import write

DAY = 86_400 * 10**9
NOW = datetime(2025, 11, 2, 15, 59, tzinfo=UTC)
T_D = int(NOW.timestamp()) * 10**9
REVENUE = ForecastProblem(
    "US0.Revenue", "What will it be?", "recurrent", "corporate", "US", "quarter", "Revenue",
    Figure("US0", "Revenue", date(2025, 9, 30)), T_D - 4 * DAY, T_D, T_D + 3 * DAY, "million USD", "amount",
    {"Company": "Company US0", "Ticker": "US0", "Metric": "Revenue"},
)  # fmt: skip
CPI = replace(REVENUE, key="US:CPI", level="macro", about=Figure("US:CPI", "level", date(2025, 10, 31)), unit="points",
              measure="macro", details={"Series": "US:CPI"})  # fmt: skip
EVENT = replace(REVENUE, key="e", text="Will it merge?", track="non-recurrent", unit="", measure=None,
                about=ForecastEvent("US0", "1", "s", "happens", 0.0, date(2025, 11, 20)))  # fmt: skip
QUOTAS = {Stratum("recurrent macro", "US"): 8, Stratum("recurrent corporate", "US"): 8}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    return write(tmp_path_factory.mktemp("suite") / "v")


def read(problem, answer):
    return SUITE.question_form(suite_question(problem), SUITE.options({})).read(answer)


@pytest.mark.parametrize(
    ("problem", "truth", "answer", "right"),
    [
        (REVENUE, 1000.0, "1049.99", True),
        (REVENUE, 1000.0, "1050", False),  # less than, and not at most
        (REVENUE, 1000.0, "$1.02 billion", True),
        (REVENUE, 1000.0, "1,020,000,000", False),  # the unit of the question decides
        (REVENUE, -1000.0, "(1,020)", True),
        (replace(REVENUE, measure="rate"), 3.0, 3.003, False),
        (replace(REVENUE, measure="rate"), 3.0, 3.0029, True),
        (REVENUE, 0.0, "0.00", True),
        (REVENUE, 0.0, 0.001, False),  # as in the ledger: nothing is a share of 0
        (EVENT, 1.0, "| Field | Value |\n|---|---|\n| Prediction (YES/NO) | yes |", True),
        (EVENT, 1.0, True, True),
        (EVENT, 0.0, {"prediction": "NO", "probability": 0.3}, True),
        (EVENT, 1.0, "NO", False),
    ],
)
def test_what_is_right(problem, truth, answer, right):
    reference = reference_of(problem, truth)
    row, packed = read(problem, answer), pack(reference.to_json(), WIDTH)
    assert decided_accuracy(packed[None], row[None]) == float(right)
    form = SUITE.form({"tools": "full"})
    best = form.read(form.write(packed))
    assert decided_accuracy(packed[None], best[None]) == 1.0
    # What a vote passes on is read again as it was.
    assert (form.read(form.write(row)) == row).all()
    assert (SUITE.question_form(suite_question(problem), {"tools": "full"}).read(form.write(row)) == row).all()


UNREADABLE = ["", None, "unknown", "1 to 2", [1, 2], float("nan"), "x" * 10**6, {"a": 1}, "YES"]


@pytest.mark.parametrize("answer", UNREADABLE, ids=lambda one: str(one)[:9])
def test_what_cannot_be_read_is_told(answer):
    with pytest.raises(UnreadableAnswerError, match=r"The answer is (empty|unreadable|ambiguous)"):
        read(REVENUE, answer)


def test_numbers_of_answers():
    assert number_of("| Prediction | 1.5 billion |", REVENUE) == 1500.0
    assert number_of(read(EVENT, "NO 0.25"), EVENT) == 0.25
    assert number_of("NO", EVENT) == 0.0
    assert number_of("perhaps", EVENT) is None


def test_scores_of_both_tracks():
    truths = [
        reference_of(REVENUE, 100.0),
        reference_of(CPI, 100.0),
        reference_of(EVENT, 1.0),
        reference_of(EVENT, 0.0),
    ]
    packed = np.stack([pack(one.to_json(), WIDTH) for one in truths])
    given = np.stack([read(REVENUE, 101), read(CPI, 102), read(EVENT, "YES 0.8"), np.zeros(WIDTH)])
    assert decided_accuracy(packed, given) == 0.5
    assert grouped_accuracy(packed, given) == pytest.approx((0.5 + 0.5) / 2)
    assert forecast_brier(packed, given) == pytest.approx((0 + 1 + 0.04 + 1) / 4)
    classes = forecast_breakdown().classes(packed, given)
    assert list(classes) == ["Non-rec. Corp.", "Non-rec. Mac.", "Non-rec. Ovr.", "Rec. Corp.", "Rec. Mac.", "Rec. Ovr."]
    assert np.nanmean(classes["Rec. Ovr."]) == 0.5
    question = suite_question(REVENUE)
    assert failure_modes(question, [], packed[0], given[0]) is None
    assert failure_modes(question, [], packed[1], given[1]) == ("near miss", "history not looked at")
    assert failure_modes(question, [], packed[0], read(REVENUE, 1e8)) == ("another scale", "history not looked at")
    assert failure_modes(question, [], packed[3], read(EVENT, "YES")) == ("false alarm", "news not looked at")
    prior = SUITE.prior(packed, 3)
    assert decide(truths[3], "NO 0.500").outcome == "right"
    assert forecast_brier(packed[2:], prior[:2]) == 0.25


def test_the_prompt_of_a_model_that_answers_at_once():
    question = suite_question(EVENT, week="2025-W44")
    assert question.text.startswith("SIMULATED: Will it merge?")
    assert question.tags == ("non-recurrent corporate", "US", "quarter", "2025-W44", "Revenue")
    assert "Deadline: 2025-11-02 23:59 (UTC+8)" in question.text
    assert "story" not in question.query
    prompt = SUITE.prompt(question, Approach("direct", simulated=True), SUITE.options({}))
    assert "simulated" in prompt.system
    assert prompt.user.index("Event Details") < prompt.user.index("Submission Format")
    assert "search_news" in SUITE.prompt(question, Approach("react", "function"), SUITE.options({})).system


def test_a_season_and_what_is_learnt_from_it(vault, tmp_path, monkeypatch):
    parts = generate_parts(vault, start=date(2025, 10, 27), weeks=3, quotas=QUOTAS)
    assert len(parts.private) + parts.void == sum(QUOTAS.values())
    first = min(one.problem.generated_ns for one in parts.private)
    learnt = [*parts.train, *parts.public]
    assert learnt
    assert all(one.known_ns < first for one in learnt)
    assert all(one.problem.deadline_ns < one.known_ns for one in parts.private)
    assert not {one.problem.about for one in learnt} & {one.problem.about for one in parts.private}
    for one in parts.private:
        assert prove(one, vault)[1] == ()
        wrong = replace(one, truth=one.truth + 1.0)
        assert "is kept" in prove(wrong, vault)[1][0]
        early = replace(one, problem=replace(one.problem, deadline_ns=one.known_ns))
        assert len(prove(early, vault)[1]) >= 2
    assert _parts(_document(parts)) == parts
    # With other problems, `seasons` has another version, and records that rest on the season are measured again.
    assert sha256_of_json(_document(parts)) == "209d4bb92472292a1c32e4ee4c26b7f721976857d02bf67d22559626db4f003b"
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    monkeypatch.setattr("openfingym_suites.findeepforecast.seasons.generate_parts", lambda vault, seed: parts)
    made = season_parts(vault)
    assert made == parts
    monkeypatch.setattr("openfingym_suites.findeepforecast.seasons.generate_parts", None)
    kept = season_parts(vault)
    assert kept == parts, "kept, and not made again"
    # In the order of their details too, which questions state: a package has one digest, whoever builds it when.
    assert repr(made) == repr(kept)


def test_forecasters_that_are_rules(vault):
    world = SimulatedWorld(vault, NOW)
    revenue = [one.value for one in world.history("US0", "Revenue")]
    assert NAIVE.forecast(REVENUE, world, {}) == revenue[-1]
    assert SEASONAL.forecast(REVENUE, world, {}) == pytest.approx(revenue[-4] * revenue[-1] / revenue[-5])
    daily = replace(CPI, about=Figure("US:STOCK_INDEX", "level", date(2025, 11, 28)))
    assert SEASONAL.forecast(daily, world, {}) == NAIVE.forecast(daily, world, {})
    nothing = replace(CPI, about=Figure("US:NOTHING", "level", date(2025, 11, 28)))
    assert SEASONAL.forecast(nothing, world, {}) is None
    assert NAIVE.forecast(EVENT, world, {}) == 0.0
    assert NAIVE.forecast(replace(EVENT, base_rate=0.25), world, {}) == 0.25
    assert CONSENSUS.forecast(REVENUE, world, {"a": 1.0, "b": 9.0, "c": 2.0}) == 2.0
    assert CONSENSUS.forecast(EVENT, world, {"a": 0.0, "b": 1.0, "c": 0.2}) == pytest.approx(0.4)
    assert CONSENSUS.forecast(EVENT, world, {}) is None


def test_the_stand_in_plays_until_it_answers(vault):
    for problem in (REVENUE, CPI, EVENT):
        question = suite_question(problem, NOW)
        lookup = SUITE.lookup(vault, question, SUITE.options({}))
        tools = dict.fromkeys(("history", "search_news", "open_document", "answer"), frozenset[str]())
        messages = [Message("user", f"Question 1 of 1:\n\n{question.text}\n\nThe answer: ...")]
        for _ in range(9):
            reply = forecast_reply(CompletionRequest("tools", tuple(messages), tools))
            (call,) = reply.calls
            if call.name == "answer":
                break
            found = lookup(call.name, call.arguments)
            assert found.valid, found.text
            messages += [Message("assistant", "I look it up."), Message("tool", found.text)]
        assert call.name == "answer"
        assert read(problem, call.arguments["answer"]).any()
    assert forecast_reply(CompletionRequest("tools", (Message("user", "What was it?"),), {})) is None
