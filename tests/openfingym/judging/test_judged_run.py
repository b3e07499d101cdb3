"""Which answers of a run are judged, what is counted, and how a run's answers are found again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from openfingym.answers import Part, Reference
from openfingym.answers.deciding import Verdict
from openfingym.answers.packing import pack
from openfingym.digests import sha256_of_text
from openfingym.errors import OpenFinGymError, StoreError, UsageError
from openfingym.judging import Judgement, recorded
from openfingym.judging.judged_run import JudgedAnswer, chosen, judge_run, summary
from openfingym.judging.recorded import RecordedAnswer, recorded_answers
from openfingym.results.run_folder import QUESTIONS, RESULT
from openfingym.suites.suite import UNDATED, SuiteQuestion


def answer(number: int, outcome: Any, text: str = "Kunming", rollout: str = "r") -> RecordedAnswer:
    question = SuiteQuestion(str(number), f"Question {number}?", UNDATED, {})
    reference = Reference(text="Kunming", group=("china", "T2"))
    return RecordedAnswer(
        rollout, "a", "m", question, "answered", text, reference, Verdict(outcome, "answered", "text", "for a reason")
    )


def judgement(score: Any, state: Any = "judged", **stated: Any) -> Judgement:
    given = {"reason": "", "agreement": None, "protocol": "historical", "calls": 2, "cost_usd": 0.25}
    return Judgement(score, state, **(given | stated))


def test_the_undecided_are_judged_and_some_of_the_others_the_same_every_time() -> None:
    answers = [answer(number, ("right", "undecided", "wrong")[number % 3]) for number in range(9)]
    undecided = [number % 3 == 1 for number in range(9)]
    assert chosen(answers, 0) == undecided
    assert chosen(answers, 0, 2) == [number in {1, 4} for number in range(9)]
    assert chosen(answers, 0, 0) == [False] * 9
    assert chosen(answers, 100) == [True] * 9
    sampled = chosen(answers, 2)
    first = sorted((number for number in range(9) if number % 3 != 1), key=lambda number: sha256_of_text(f"r {number}"))
    assert [number for number in range(9) if sampled[number] and not undecided[number]] == sorted(first[:2])
    # What was not answered tells nothing of a judge.
    assert chosen([answer(1, "wrong", ""), answer(2, "undecided", "")], 5) == [False, True]


class Counting:
    """A judge that counts how many answers it has under way."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def judge(self, question: str, reference: Reference, text: str) -> Judgement:
        assert (question, reference.text, text) == (f"Question {int(question[9:-1])}?", "Kunming", "Kunming")
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return judgement(1)


def test_as_many_are_judged_at_once_as_is_said() -> None:
    answers = [answer(number, "right" if number == 3 else "undecided") for number in range(12)]
    for concurrency in (1, 3):
        judge = Counting()
        found = asyncio.run(judge_run(judge, answers, concurrency=concurrency))  # type: ignore[arg-type]
        assert judge.most == concurrency
        assert [one.recorded for one in found] == answers
        assert [one.judgement is None for one in found] == [number == 3 for number in range(12)]


def of(pairs: Sequence[tuple[str, Judgement | None]]) -> list[JudgedAnswer]:
    return [JudgedAnswer(answer(number, outcome), judged) for number, (outcome, judged) in enumerate(pairs)]


def test_what_is_counted_of_a_judged_run() -> None:
    told = summary(
        of(
            [
                ("right", judgement(1, agreement=1.0)),
                ("right", judgement(0, agreement=0.5)),
                ("right", None),
                ("wrong", judgement(0)),
                ("wrong", judgement(None, "judge-error")),
                ("undecided", judgement(1)),
                ("undecided", judgement(0, "instructs", calls=0, cost_usd=0.0)),
                ("undecided", judgement(0, "control")),
                ("undecided", judgement(None, "judge-error")),
                ("undecided", None),
            ]
        )
    )
    assert (told.answers, told.right, told.wrong, told.undecided) == (10, 3, 2, 5)
    assert (told.judged_right, told.judged_wrong) == (1, 2)
    assert told.states == {"judged": 1, "instructs": 1, "control": 1, "judge-error": 1}
    assert (told.accuracy_by_rule, told.accuracy_low, told.accuracy_high) == (0.3, 0.4, 0.6)
    assert (told.compared, told.agreement_with_rules, told.agreement_of_repeats) == (3, pytest.approx(2 / 3), 0.75)
    assert (told.calls, told.cost_usd) == (14, 1.75)


def test_what_is_counted_where_there_is_nothing_or_no_price() -> None:
    told = summary([])
    assert (told.answers, told.accuracy_by_rule, told.accuracy_low, told.accuracy_high) == (0, 0.0, 0.0, 0.0)
    assert (told.compared, told.agreement_with_rules, told.agreement_of_repeats) == (0, None, None)
    assert (told.calls, told.cost_usd) == (0, 0)
    assert summary(of([("undecided", judgement(1)), ("right", judgement(1, cost_usd=None))])).cost_usd is None


def test_a_line_holds_no_answer_and_replies_only_if_asked() -> None:
    judged = JudgedAnswer(answer(7, "undecided"), judgement(0, reason="why", replies=("It is Kunming.",)))
    told = {"score": 0, "state": "judged", "agreement": None, "protocol": "historical", "calls": 2, "cost_usd": 0.25}
    assert judged.to_json() == {
        "rollout": "r",
        "question": "7",
        "group": ["china", "T2"],
        "answer_sha256": sha256_of_text("Kunming"),
        "rule": {"outcome": "undecided", "state": "answered", "rule": "text"},
        "judge": {**told, "reason": "why"},
    }
    assert judged.to_json(replies=True)["judge"] == {**told, "reason": "why", "replies": ["It is Kunming."]}
    assert JudgedAnswer(answer(7, "right"), None).to_json(replies=True)["judge"] is None


TRUTHS = [Reference((Part("value", "number", float(value)),)) for value in (1, 2, 3)]
"""Of one public question and of two that score."""


class Package:
    """A package of three questions whose answers take four numbers."""

    manifest = SimpleNamespace(n_public=1, submission_shape=(3, 5))

    def array(self, name: str) -> Any:
        assert name == "test_questions"
        return np.array([SuiteQuestion(f"q{number}", "How many?", UNDATED, {}).to_json() for number in range(3)])

    def read_truth(self) -> dict[str, Any]:
        return {"targets": np.array([pack(reference.to_json()) for reference in TRUTHS])}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with runs in it, all of one package, which are sound."""
    sound = SimpleNamespace(
        rollout_id="r", agent="a", model="m", state="scored", task="t", task_digest="d", tape="given"
    )
    monkeypatch.setattr(
        recorded, "read_sound_run", lambda folder: SimpleNamespace(**{**vars(sound), "rollout_id": folder.name})
    )
    monkeypatch.setattr(recorded, "_package", lambda _result: Package())
    return tmp_path


def write(folder: Path, *submissions: Sequence[str], questions: str | None = None) -> Path:
    """Write a run, of which only the last of its submissions counts."""
    (folder / "submissions").mkdir(parents=True)
    (folder / RESULT).write_text("{}")
    lines = questions or "".join(
        json.dumps({"question": n, "state": s}) + "\n" for n, s in ((1, "answered"), (2, "empty"))
    )
    (folder / QUESTIONS).write_text(lines)
    for number, texts in enumerate(submissions, 9):
        rows = np.zeros((3, 5))
        for row, text in zip(rows, texts, strict=False):
            row[1:] = pack(text, 4)
        np.save(folder / "submissions" / f"{number}.npy", rows)
    return folder


def test_the_last_submission_of_each_run_is_read(runs: Path) -> None:
    write(runs / "one", ("0", "0", "0"), ("9", "2", "3,0"))
    found = recorded_answers(runs / "one")
    assert [(one.rollout, one.agent, one.model, one.question.id, one.state, one.answer) for one in found] == [
        ("one", "a", "m", "q1", "answered", "2"),
        ("one", "a", "m", "q2", "empty", "3,0"),
    ]
    assert [one.verdict.outcome for one in found] == ["right", "right"]
    assert [one.reference for one in found] == TRUTHS[1:]


def test_runs_are_found_three_levels_down_and_not_behind_links(runs: Path, tmp_path: Path) -> None:
    write(runs / "all" / "b" / "c" / "d" / "deep", ("9", "2", "3"))
    write(runs / "all" / "a", ("9", "2", "3"))
    write(runs / "all" / "a" / "within", ("9", "2", "3"))
    write(runs / "all" / "b" / "c" / "d" / "e" / "too-deep", ("9", "2", "3"))
    write(runs / "elsewhere" / "linked", ("9", "2", "3"))
    (runs / "all" / "link").symlink_to(runs / "elsewhere")
    assert [one.rollout for one in recorded_answers(runs / "all")] == ["a", "a", "deep", "deep"]
    for nothing in (
        runs / "no-folder",
        runs / "all" / "a" / RESULT,
        runs / "all" / "b" / "c" / "d" / "e" / "too-deep" / "submissions",
    ):
        with pytest.raises(UsageError, match="has no answers in words; expected the folder of a run"):
            recorded_answers(nothing)


def test_what_cannot_be_read_is_an_error_and_no_answers(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="there is no record of what was answered"):
        recorded_answers(write(runs / "none"))
    np.save(write(runs / "shape") / "submissions" / "1.npy", np.zeros((2, 5)))
    with pytest.raises(StoreError, match=r"has shape \(2, 5\), not \(3, 5\)"):
        recorded_answers(runs / "shape")
    for number, lines in enumerate(('{"question": 1}\n', "no JSON\n", '{"question": "x", "state": "y"}\n')):
        with pytest.raises(StoreError, match="cannot be read"):
            recorded_answers(write(runs / f"odd-{number}", ("9", "2", "3"), questions=lines))
    np.save(write(runs / "numbers") / "submissions" / "1.npy", np.full((3, 5), 0.5))
    monkeypatch.setattr(
        recorded,
        "read_sound_run",
        lambda _folder: SimpleNamespace(state="scored", rollout_id="r", agent="a", model=None, tape="given"),
    )
    with pytest.raises(UsageError, match="has no answers in words"):
        recorded_answers(runs / "numbers")
    # Without a score, or without questions, there is nothing to judge.
    write(runs / "scored", ("9", "2", "3"))
    assert len(recorded_answers(runs / "scored")) == 2
    (runs / "scored" / QUESTIONS).unlink()
    with pytest.raises(UsageError, match="has no answers in words"):
        recorded_answers(runs / "scored")
    write(runs / "failed", ("9", "2", "3"))
    monkeypatch.setattr(recorded, "read_sound_run", lambda _folder: SimpleNamespace(state="rejected"))
    with pytest.raises(UsageError, match="has no answers in words"):
        recorded_answers(runs / "failed")


def test_the_package_is_the_one_that_was_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("broken", "other", "wanted"):
        (tmp_path / "packages" / "t" / name).mkdir(parents=True)

    class Stored:
        def __init__(self, public: Path, truth: Path) -> None:
            assert truth == tmp_path / "truth" / "t" / public.name
            self.name = public.name

        @property
        def manifest(self) -> SimpleNamespace:
            if self.name == "broken":
                raise OpenFinGymError("broken")
            return SimpleNamespace(digest=f"digest of {self.name}")

    monkeypatch.setattr(recorded, "home", lambda: tmp_path)
    monkeypatch.setattr(recorded, "BuiltPackage", Stored)
    found: Any = recorded._package(SimpleNamespace(task="t", task_digest="digest of wanted"))  # type: ignore[arg-type]
    assert found.name == "wanted"
    with pytest.raises(UsageError, match="the package of t that was asked is not on this machine"):
        recorded._package(SimpleNamespace(task="t", task_digest="digest of none"))  # type: ignore[arg-type]
