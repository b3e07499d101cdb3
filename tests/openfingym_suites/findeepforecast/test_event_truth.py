"""What became of events: evidence, proposals, and verdicts that are given once."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import StoreError, UsageError
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.truth.adjudicating import Proposal, RuleAdjudicator
from openfingym_suites.findeepforecast.truth.evidence import RuleEvidence
from openfingym_suites.findeepforecast.truth.verdicts import VerdictQueue, agreement, beside_record, evidence_of
from openfingym_suites.findeepforecast.world.known import Document
from openfingym_suites.findeepforecast.world.outcomes import decided
from tests.openfingym_suites.findeepforecast.story_world import StoryWorld, made_up_companies

ASKED_AT, BY = datetime(2025, 11, 6, tzinfo=UTC), date(2025, 11, 20)
LATER = datetime(2025, 12, 1, tzinfo=UTC)
OFFICE = "Office"


def _problem(condition: str = "at_least", threshold: float = 20.0) -> ForecastProblem:
    event = ForecastEvent("US", "A1", "S1", condition, threshold, BY)
    moments = (ASKED_AT, ASKED_AT + timedelta(days=3), datetime(2025, 11, 21, 6, tzinfo=UTC))
    generated, deadline, settled = (round(one.timestamp()) * 10**9 for one in moments)
    text = f"Will the office announce a change of its policy rate of at least 20 basis points by {BY}?"
    return ForecastProblem(
        "US.A1.2025-11-20.at_least.S1", text, "non-recurrent", "macro", "US", "month", "Monetary Policy Shift",
        event, generated, deadline, settled,
    )  # fmt: skip


def _said(day: int, body: str, *, official: bool = True, source: str = OFFICE, story: str = "S1") -> Document:
    at = datetime(2025, 11, day, 12, tzinfo=UTC)
    return Document(f"d{day}-{source}", at, source, official, "A change of the policy rate", body, "US", story)


def _proposed(*documents: Document, problem: ForecastProblem | None = None, now: datetime = LATER) -> Proposal:
    problem = problem or _problem()
    world = StoryWorld(made_up_companies(1), sorted(documents, key=lambda one: one.at), {}, LATER).at(now)
    (evidence,) = RuleEvidence().gather(world, [problem])
    assert all(one.document in {each.id for each in world.documents} for one in evidence.findings if one.document)
    for one in evidence.findings:
        assert not one.document or one.quotation in next(d.body for d in world.documents if d.id == one.document)
    return RuleAdjudicator().propose(problem, evidence)


CONFIRMED = "The office confirms: a change of the policy rate. The figure is 25 basis points."
SHORT = "The office confirms: a change of the policy rate. The figure is 15 basis points."
DROPPED = "The office will not go ahead with a change of the policy rate."
VOIDED = "The statement of the office on a change of the policy rate has no legal effect until a review has ended."


@pytest.mark.parametrize(
    ("documents", "outcome"),
    [
        ((_said(18, CONFIRMED),), "YES"),
        ((_said(18, SHORT),), "NO"),
        ((_said(18, DROPPED),), "NO"),
        ((), "NO"),
        ((_said(18, CONFIRMED, official=False, source="Wire"),), "NO"),
        ((_said(24, CONFIRMED),), "NO"),
        ((_said(18, CONFIRMED), _said(19, VOIDED, source="Registrar")), "indeterminate"),
        ((_said(18, CONFIRMED), _said(20, SHORT, source="Board")), "indeterminate"),
        ((_said(18, "The office has put off a change of the policy rate; no new date is set."),), "NO"),
        ((_said(18, CONFIRMED, story="S2"),), "NO"),
        ((_said(4, CONFIRMED),), "NO"),  # before it was asked: another event
    ],
)
def test_the_papers_rule(documents: tuple[Document, ...], outcome: str) -> None:
    assert _proposed(*documents).outcome == outcome


def test_nothing_is_proposed_from_what_is_not_known_yet() -> None:
    early = datetime(2025, 11, 17, tzinfo=UTC)
    found = _proposed(_said(18, CONFIRMED), now=early)
    assert (found.outcome, found.documents) == ("indeterminate", ())
    assert _proposed(_said(16, CONFIRMED), now=early).outcome == "YES"


def test_proposals_agree_with_the_record_about_as_often_as_experts_do(
    stories: StoryWorld, asked: list[ForecastProblem]
) -> None:
    found = Counter[tuple[str, bool]]()
    for problem, evidence in zip(asked, RuleEvidence().gather(stories, asked), strict=True):
        assert isinstance(problem.about, ForecastEvent)
        ruling = stories.ruling(problem.about)
        assert ruling is not None
        found[RuleAdjudicator().propose(problem, evidence).outcome, ruling.happened] += 1
    same = found["YES", True] + found["NO", False]
    assert 0.9 < same / found.total() < 0.99
    assert found["YES", False] == 0
    open_ones = found["indeterminate", True] + found["indeterminate", False]
    assert open_ones > 0
    beside = beside_record(stories, asked)
    assert (beside.decided, beside.compared, beside.same) == (found.total(), found.total() - open_ones, same)


@pytest.mark.parametrize(
    ("condition", "amount", "happened"),
    [("happens", None, True), ("at_least", 20.0, True), ("at_least", 19.9, False), ("at_most", 20.0, True),
     ("at_most", 21.0, False), ("detail", 1.0, True), ("detail", 0.0, False), ("at_least", None, False)],
)  # fmt: skip
def test_events_are_decided_by_the_record(condition: str, amount: float | None, happened: bool) -> None:
    event = ForecastEvent("US", "A1", "S1", condition, 20.0, BY)
    assert decided(event, BY, amount) is happened
    assert not decided(event, BY + timedelta(days=1), amount)
    assert not decided(event, None, amount)
    with pytest.raises(UsageError, match="no condition"):
        decided(replace(event, condition="likely"), BY, amount)


class Ledger:
    """Keeps decisions as the verifier's ledger does: the state changes with the first."""

    def __init__(self) -> None:
        self.decisions: list[tuple[str, float | None, Mapping[str, Any]]] = []

    def state(self, question: str) -> str:
        return "scored" if any(one[0] == question for one in self.decisions) else "resolvable"

    def decide(self, question: str, truth: float | None, *, evidence: Mapping[str, Any], reason: str) -> None:
        assert (truth is None) == bool(reason)
        self.decisions.append((question, truth, evidence))


def _queue(folder: Path, *documents: Document, opinions: int = 1, names: tuple[str, ...] = ("w/s/q1",)) -> VerdictQueue:
    queue = VerdictQueue.of_series(folder, opinions=opinions)
    world = StoryWorld(made_up_companies(1), documents, {}, LATER)
    (evidence,) = RuleEvidence().gather(world, [_problem()])
    for name in names:
        queue.propose(name, _problem().text, RuleAdjudicator().propose(_problem(), evidence), evidence)
    return queue


SAYS = {"by": "A. Expert", "at": "2025-12-01T09:00:00Z", "reason": "The statement is on the office's page."}


def test_a_verdict_is_given_and_entered_once(tmp_path: Path) -> None:
    queue, ledger = _queue(tmp_path, _said(18, CONFIRMED)), Ledger()
    (case,) = queue.cases("pending")
    assert case.proposal["outcome"] == "YES"
    assert case.evidence["findings"][0]["document"] == "d18-Office"
    done = queue.give("w/s/q1", "YES", **SAYS, ledger=ledger)
    assert (done.state, done.outcome, done.entered) == ("decided", "YES", True)
    assert [(name, truth) for name, truth, _ in ledger.decisions] == [("w/s/q1", 1.0)]
    evidence = ledger.decisions[0][2]
    assert evidence["opinions"][0]["by"] == "A. Expert"
    assert evidence["findings"][0]["quotation"]
    with pytest.raises(UsageError, match=r"was decided YES by A\. Expert"):
        queue.give("w/s/q1", "NO", **SAYS, ledger=ledger)
    assert queue.enter(ledger) == []
    assert _queue(tmp_path).case("w/s/q1") == done  # another proposal changes nothing
    assert len(ledger.decisions) == 1


def test_a_decision_that_was_not_entered_is_entered_later_and_not_twice(tmp_path: Path) -> None:
    queue, ledger = _queue(tmp_path, names=("w/s/q1", "w/s/q2")), Ledger()
    queue.give("w/s/q1", "NO", **SAYS)
    queue.give("w/s/q2", "VOID", **SAYS)
    ledger.decide("w/s/q1", 0.0, evidence={}, reason="")  # the ledger had it, and the process died
    assert {one.question for one in queue.enter(ledger)} == {"w/s/q1", "w/s/q2"}
    assert [(name, truth) for name, truth, _ in ledger.decisions] == [("w/s/q1", 0.0), ("w/s/q2", None)]
    assert queue.enter(ledger) == []


def test_opinions_that_differ_wait_for_a_final_one(tmp_path: Path) -> None:
    queue, ledger = _queue(tmp_path, opinions=2), Ledger()
    assert queue.give("w/s/q1", "YES", **SAYS, ledger=ledger).state == "pending"
    with pytest.raises(UsageError, match="another person's is needed"):
        queue.give("w/s/q1", "YES", **SAYS, ledger=ledger)
    other = SAYS | {"by": "B. Expert"}
    assert queue.give("w/s/q1", "NO", **other, ledger=ledger).state == "disputed"
    assert queue.give("w/s/q1", "NO", **SAYS | {"by": "C. Expert"}, ledger=ledger).state == "disputed"
    assert not ledger.decisions
    assert queue.give("w/s/q1", "NO", **other, final=True, ledger=ledger).outcome == "NO"
    assert len(ledger.decisions) == 1


def test_a_newer_proposal_keeps_the_earlier_one(tmp_path: Path) -> None:
    queue = _queue(tmp_path)
    _queue(tmp_path, _said(18, CONFIRMED))
    case = queue.case("w/s/q1")
    assert (case.proposal["outcome"], [one["outcome"] for one in case.earlier]) == ("YES", ["NO"])


def test_many_who_give_verdicts_at_once_decide_once(tmp_path: Path) -> None:
    queue, ledger = _queue(tmp_path), Ledger()
    refused = []

    def give(name: str) -> None:
        try:
            queue.give("w/s/q1", "YES", **SAYS | {"by": name}, ledger=ledger)
        except UsageError as error:
            refused.append(error)

    threads = [threading.Thread(target=give, args=(f"Expert {number}",)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(ledger.decisions) == 1
    assert len(refused) == 5


@pytest.mark.parametrize("change", [{"by": " "}, {"reason": ""}, {"reason": "x" * 5000}])
def test_a_verdict_has_a_name_and_a_reason(tmp_path: Path, change: dict[str, str]) -> None:
    queue = _queue(tmp_path)
    with pytest.raises(UsageError, match="a verdict has a"):
        queue.give("w/s/q1", "YES", **SAYS | change)
    with pytest.raises(UsageError, match="YES, NO or VOID"):
        queue.give("w/s/q1", "maybe", **SAYS)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no verdict is asked for"):
        queue.give("w/s/unknown", "YES", **SAYS)
    assert queue.case("w/s/q1").opinions == ()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"question": "q"}', '{"question": 1, "x": 2}', "\ud800"])
def test_a_file_that_is_no_case_is_said_so(tmp_path: Path, content: str) -> None:
    queue = _queue(tmp_path)
    (path,) = queue.folder.glob("*.json")
    path.write_bytes(content.encode(errors="surrogatepass"))
    with pytest.raises(StoreError, match="is no case of a verdict"):
        queue.cases()


def test_names_of_questions_are_no_paths(tmp_path: Path) -> None:
    queue = _queue(tmp_path / "in", names=("../../x", "..", "a/b", "a_b", "x" * 199))
    assert len(queue.cases()) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_agreement_of_proposals_and_verdicts(tmp_path: Path) -> None:
    names = tuple(f"w/s/q{number}" for number in range(20))
    queue = _queue(tmp_path, _said(18, CONFIRMED), names=names)
    for number, name in enumerate(names[:19]):
        queue.give(name, "NO" if number == 0 else "VOID" if number == 1 else "YES", **SAYS)
    found = agreement(queue.cases())
    assert (found.decided, found.compared, found.same) == (19, 18, 17)
    assert found.share == pytest.approx(17 / 18)
    assert found.kappa == pytest.approx(0.0)
    assert agreement([]).share is None


def test_what_goes_to_the_ledger_has_room(tmp_path: Path) -> None:
    long = [_said(1 + number % 18, CONFIRMED + " x" * 400, source=f"Office {number}") for number in range(40)]
    queue = _queue(tmp_path, *sorted(long, key=lambda one: one.at), opinions=9)
    for number in range(9):
        said = {"reason": "\u8b49" * 4000, "by": f"Expert {number}"}
        queue.give("w/s/q1", "YES" if number % 2 else "NO", **SAYS | said, final=number == 8)
    assert len(json.dumps(evidence_of(queue.case("w/s/q1")))) < 16 * 1024
