"""Stages with a model: what it answers is held against what it was shown, kept, and paid for once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from openfingym.errors import BudgetSpentError, StoreError, UsageError
from openfingym.models import Allowance, ModelSpec
from openfingym.models.testing import CompletionRequest, Reply, StandIn
from openfingym_suites.findeepforecast.claims import read_report
from openfingym_suites.findeepforecast.generation.events import EventGenerator
from openfingym_suites.findeepforecast.generation.finding import find_non_recurrent
from openfingym_suites.findeepforecast.generation.models import (
    ModelQuestions,
    ModelRelevance,
    ModelSignals,
    QuestionAnswer,
)
from openfingym_suites.findeepforecast.model_asking import (
    UnreadableReplyError,
    filled,
    read_typed,
)
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.rounds.kept_model import FILE, kept_model
from openfingym_suites.findeepforecast.truth.evidence import Evidence, EvidenceItem
from openfingym_suites.findeepforecast.truth.models import ModelAdjudicator
from openfingym_suites.findeepforecast.world.known import Document
from tests.openfingym_suites.findeepforecast.conftest import EVERYTHING, as_of
from tests.openfingym_suites.findeepforecast.story_world import StoryWorld, week_of

WEEK = week_of(1)
_LINE = re.compile(r'^\{"id".*\}$', re.MULTILINE)


def _documents(prompt: str) -> list[Document]:
    rows = [json.loads(line) for line in _LINE.findall(prompt)]
    return [
        Document(row["id"], datetime.fromisoformat(row["at"]).replace(tzinfo=UTC), row["source"], row["official"],
                 row["title"], row["body"], row["about"])
        for row in rows
    ]  # fmt: skip


class Reader:
    """Answers each stage from the prompt alone, as a careful model would."""

    def respond(self, request: CompletionRequest) -> Reply:
        return Reply(json.dumps(self.answer(request.messages[-1].content)))

    def answer(self, prompt: str) -> object:
        if prompt.startswith("You look through news"):
            return {"candidates": [one for one in map(self._candidate, _documents(prompt)) if one]}
        if prompt.startswith("You assess"):
            reports = [read_report(one) for one in _documents(prompt)]
            bound = next((one.bound for one in reports if one.bound), ("happens", 0.0))
            due = next(one.day for one in reports if one.day)
            return {
                "due": due.isoformat(), "condition": bound[0], "threshold": bound[1], "detail": "", "unknowns": ["it"],
                "conflicts": [], "delay": False, "leaning": 0.5, "uncertainty": 0.9,
            }  # fmt: skip
        return self._question(prompt)

    def _candidate(self, document: Document) -> object:
        report = read_report(document)
        if not report.matters or report.says or report.tied or report.recap or not report.day:
            return None
        return {
            "documents": [document.id], "kind": report.matters[0].kind, "phrase": report.matters[0].phrase,
            "binary": True, "uncertain": report.contested, "routine": report.routine,
        }  # fmt: skip

    def _question(self, prompt: str) -> object:
        parts = dict(re.findall(r"^(Event|About|Said to be settled by|Contested): (.*)$", prompt, re.MULTILINE))
        condition, threshold = parts["Contested"].split()[:2]
        bound = f" of {condition.replace('_', ' ')} {threshold}" if condition.startswith("at_") else ""
        by = parts["Said to be settled by"]
        text = f"Will there be, at {parts['About']}, {parts['Event']}{bound} by {by}?"
        return {
            "question": text, "authority": "its own statement", "condition": condition, "threshold": float(threshold),
            "detail": "", "by": by,
        }  # fmt: skip


class Wrong(Reader):
    """As the reader, but the answer to each prompt goes through a function first."""

    def __init__(self, change: Callable[[object], object | str]) -> None:
        self._change = change

    def respond(self, request: CompletionRequest) -> Reply:
        changed = self._change(self.answer(request.messages[-1].content))
        return Reply(changed if isinstance(changed, str) else json.dumps(changed))


def _forged(answer: object) -> object:
    assert isinstance(answer, dict)
    for one in answer.get("candidates", ()):
        one["documents"] = ["news-19990101-0001"]
    return answer


def _leading(answer: object) -> object:
    assert isinstance(answer, dict)
    if "question" in answer:
        answer["question"] = answer["question"].replace("Will there be", "Will there finally be")
    return answer


POLICIES = {
    "reader": Reader(),
    "forger": Wrong(_forged),
    "leader": Wrong(_leading),
    "talker": Wrong(lambda answer: f"Sure! Here it is: {answer}"),
    "empty": Wrong(lambda _: {"candidates": []}),
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with StandIn(policies={f"stand-in/{name}": policy for name, policy in POLICIES.items()}) as stand_in:
        yield stand_in.base_url


@pytest.fixture
def spec(server: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModelSpec]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return lambda name: ModelSpec(f"stand-in/{name}", server)


@pytest.fixture(scope="module")
def few(stories: StoryWorld) -> StoryWorld:
    """The last days of a world as of a week, of one economy."""
    world = as_of(stories, WEEK)
    return StoryWorld(world.members, [one for one in world.documents if one.subject == "US"], {}, world.as_of)


def _generate(world: StoryWorld, spec: ModelSpec, folder: Path, allowance: Allowance | None = None) -> tuple:
    with kept_model(spec, folder, allowance=allowance) as model:
        generator = EventGenerator(ModelSignals(model, most=40), ModelRelevance(model), ModelQuestions(model))
        return generator.generate(world, WEEK, EVERYTHING, [], 0), model.asked


def test_a_model_generates_and_everything_is_kept(
    few: StoryWorld, spec: Callable[[str], ModelSpec], tmp_path: Path
) -> None:
    drawn, asked = _generate(few, spec("reader"), tmp_path)
    assert len(drawn.problems) >= 3
    assert all(one.text.startswith("Will there be, at US") for one in drawn.problems)
    rows = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert len(rows) == asked
    assert {one["stage"] for one in rows} == {"signals", "relevance", "question"}
    assert all(one["prompt"] and one["answer"] and one["completion_tokens"] > 0 for one in rows)
    shown = {one.id: one for one in few.documents}
    for row in rows:  # no stage is shown what came later, and the last one is shown no news
        names = set(re.findall(r'"id": "([^"]+)"', row["prompt"]))
        assert names <= shown.keys()
        assert bool(names) == (row["stage"] != "question")
    again, asked_again = _generate(few, spec("reader"), tmp_path)
    assert (again, asked_again) == (drawn, asked)
    assert len((tmp_path / FILE).read_text().splitlines()) == asked


@pytest.mark.parametrize(
    ("name", "rule"), [("forger", "nonsense"), ("leader", "leading"), ("talker", "unreadable answer"), ("empty", "")]
)
def test_nonsense_of_a_model_is_refused_and_counted(
    few: StoryWorld, spec: Callable[[str], ModelSpec], tmp_path: Path, name: str, rule: str
) -> None:
    drawn, _ = _generate(few, spec(name), tmp_path)
    assert drawn.problems == ()
    assert not rule or drawn.refused[rule] > 0


def test_the_budget_is_kept_over_restarts(few: StoryWorld, spec: Callable[[str], ModelSpec], tmp_path: Path) -> None:
    drawn, asked = _generate(few, spec("reader"), tmp_path, Allowance(turns=4))
    assert asked == 4
    assert drawn.refused["budget"] > 0
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes() + b'{"cut off')
    again, asked = _generate(few, spec("reader"), tmp_path, Allowance(turns=4))
    assert (again, asked) == (drawn, 4)
    with (
        kept_model(spec("reader"), tmp_path, allowance=Allowance(turns=4)) as model,
        pytest.raises(BudgetSpentError, match="limit of turns"),
    ):
        model.ask("signals", "You look through news for another thing")
    path.write_text('{"key": 1}\n')
    with pytest.raises(StoreError, match="line 1"), kept_model(spec("reader"), tmp_path):
        pass


def test_a_definition_names_the_model_by_the_environment(
    few: StoryWorld, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    monkeypatch.delenv("OPENFINGYM_EVENTS_MODEL", raising=False)
    with pytest.raises(UsageError, match=r"set \$OPENFINGYM_EVENTS_MODEL"):
        find_non_recurrent("model")
    monkeypatch.setenv("OPENFINGYM_EVENTS_MODEL", "stand-in/broken")
    monkeypatch.setenv("OPENFINGYM_EVENTS_TURNS", "3")
    drawn = find_non_recurrent("model").generate(few, WEEK, EVERYTHING, [], 0)
    assert drawn.problems == ()
    assert drawn.refused["unreadable answer"] > 0
    assert 0 < len((tmp_path / "asked" / "stand-in_broken" / FILE).read_text().splitlines()) <= 3


EVIDENCE = Evidence(
    "k", "2025-12-01T00:00:00+00:00",
    (
        EvidenceItem(2, "d1", "2025-11-18T12:00:00+00:00", "Office", True, "fulfils", "The office confirms it."),
        EvidenceItem(2, "d2", "2025-11-18T13:00:00+00:00", "Wire", False, "fulfils", "It is in effect, people said."),
    ),
    over=True,
)  # fmt: skip
PROBLEM = ForecastProblem(
    "k", "Will the office announce it by 2025-11-20?", "non-recurrent", "macro", "US", "week", "x",
    ForecastEvent("US", "A1", "S", "happens", 0.0, date(2025, 11, 20)), 1, 2, 3,
)  # fmt: skip


class Says:
    """A model that says one thing."""

    name = "stand-in/says"

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def ask(self, stage: str, prompt: str, attempt: int = 0) -> str:
        assert stage == "adjudicate"
        assert "The office confirms it." in prompt
        return self._answer


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ('{"outcome": "YES", "reason": "r", "documents": ["d1"]}', "YES"),
        ('```json\n{"outcome": "YES", "reason": "r", "documents": ["d1", "d2"]}\n```', "YES"),
        ('{"outcome": "YES", "reason": "r", "documents": ["d2"]}', "NO"),
        ('{"outcome": "YES", "reason": "r", "documents": []}', "NO"),
        ('{"outcome": "YES", "reason": "r", "documents": ["d9"]}', "indeterminate"),
        ('{"outcome": "NO", "reason": "r", "documents": []}', "NO"),
        ('{"outcome": "MAYBE", "reason": "r", "documents": []}', "indeterminate"),
        ("YES", "indeterminate"),
    ],
)
def test_a_model_proposes_only_what_its_documents_carry(answer: str, outcome: str) -> None:
    found = ModelAdjudicator(Says(answer)).propose(PROBLEM, EVIDENCE)
    assert (found.outcome, found.adjudicator) == (outcome, "stand-in/says")


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", '{"question": 1}', "x" * 50_000, "[" * 30_000, '{"question": "q", "extra": 1}', "\ud800"],
)
def test_answers_of_another_form_cannot_be_read(text: str) -> None:
    with pytest.raises(UnreadableReplyError):
        read_typed(text, QuestionAnswer)


def test_documents_cannot_fill_places_of_a_prompt() -> None:
    assert filled("<<A>> <<B>>", a="<<B>>", b="x") == "<<B>> x"
