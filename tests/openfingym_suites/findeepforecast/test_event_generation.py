"""Questions about events: made from the news, refused by rule, and blind to how things end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_union

from openfingym_suites.findeepforecast.generation.events import EventGenerator, problem_of
from openfingym_suites.findeepforecast.generation.review import RULES, broken_rule, review, select
from openfingym_suites.findeepforecast.generation.signals import RuleSignals
from openfingym_suites.findeepforecast.generation.writing import ProposedQuestion
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.known import Document
from openfingym_suites.findeepforecast.world.matters import matters
from openfingym_suites.findeepforecast.world.stories import story_frames
from tests.openfingym_suites.findeepforecast.conftest import EVERYTHING, as_of
from tests.openfingym_suites.findeepforecast.story_world import BEGIN, END, StoryWorld, made_up_companies, week_of

WEEK = week_of(2)


@pytest.fixture(scope="session")
def draft(stories: StoryWorld) -> ProposedQuestion:
    """One that is in order, about an amount."""
    drafts, _ = EventGenerator().drafts(as_of(stories, WEEK), WEEK)
    return next(one for one in review(drafts, WEEK).drafts if one.condition == "at_least")


def test_every_type_of_the_taxonomy_has_a_matter() -> None:
    found = {one.kind for one in matters()}
    assert found == set(read_taxonomy().macro_events) | {str(number) for number in read_taxonomy().corporate_events}
    assert len({one.phrase for one in matters()}) == len(matters())


def test_stories_are_the_same_from_the_same_seed_and_others_from_another() -> None:
    companies = made_up_companies(2)
    first, again, other = (story_frames(companies, BEGIN, END, seed, density=0.02) for seed in (1, 1, 2))
    assert first[0].equals(again[0])
    assert first[1].equals(again[1])
    assert not first[0].equals(other[0])
    assert (first[0].known_at == first[0].published_at).all()
    assert set(first[1].story) <= set(first[0].story)


def test_a_season_is_asked_once_each_in_order_and_about_the_future(asked: list[ForecastProblem]) -> None:
    assert len(asked) > 200
    assert len({one.key for one in asked}) == len({one.text for one in asked}) == len(asked)
    for one in asked:
        assert isinstance(one.about, ForecastEvent)
        assert one.generated_ns < one.deadline_ns < one.settled_ns
        assert one.about.by.isoformat() in one.text
        assert one.details is not None
        assert one.details["Authority"]
    assert {one.horizon for one in asked} == {"week", "month", "quarter"}
    assert {one.about.condition for one in asked if isinstance(one.about, ForecastEvent)} >= {
        "happens",
        "at_least",
        "detail",
    }


def test_questions_follow_from_what_was_known_alone(stories: StoryWorld) -> None:
    """A world that ends at the time of generation gives the same questions as one that goes on."""
    known = as_of(stories, WEEK)
    cut = replace(known, rulings={}, documents=list(known.documents))
    args = (WEEK, EVERYTHING, [], 0)
    assert EventGenerator().generate(cut, *args) == EventGenerator().generate(replace(stories), *args)


def test_wording_does_not_change_with_the_ends(stories: StoryWorld) -> None:
    """The same world with other ends: what is asked of stories that are open in both is the same to the letter."""
    other = StoryWorld.made(5, density=0.25, ends=99)
    texts = []
    for world in (stories, other):
        drafts, _ = EventGenerator().drafts(as_of(world, WEEK), WEEK)
        texts.append({one.signal.story: (one.key, one.text, one.uncertainty, one.leaning) for one in drafts})
    both = texts[0].keys() & texts[1].keys()
    assert len(both) > 100
    assert all(texts[0][story] == texts[1][story] for story in both)
    changed = sum(stories.rulings[story][0] != other.rulings[story][0] for story in both)
    assert changed > len(both) / 3


def _p_value(features: object, outcomes: np.ndarray, rounds: int = 49) -> tuple[float, float]:
    """AUC of a cross-validated classifier, and the share of shuffled outcomes on which one is as good."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)

    def auc(truth: np.ndarray) -> float:
        model = LogisticRegression(C=1.0, solver="liblinear")
        found = cross_val_predict(model, features, truth, cv=folds, method="predict_proba")[:, 1]
        return float(roc_auc_score(truth, found))

    shuffled = np.random.default_rng(0)
    real = auc(outcomes)
    better = sum(auc(shuffled.permutation(outcomes)) >= real for _ in range(rounds))
    return real, (1 + better) / (1 + rounds)


def _words(texts: list[str]) -> object:
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=4)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), min_df=8, max_features=1000)
    return make_union(words, letters).fit_transform(texts)


@pytest.fixture(scope="session")
def outcomes(stories: StoryWorld, asked: list[ForecastProblem]) -> np.ndarray:
    found = [stories.ruling(one.about) for one in asked if isinstance(one.about, ForecastEvent)]
    return np.array([one is not None and one.happened for one in found])


def test_no_classifier_tells_the_outcome_by_the_text(asked: list[ForecastProblem], outcomes: np.ndarray) -> None:
    _, p = _p_value(_words([one.text for one in asked]), outcomes)
    assert p > 1 / 50  # it is not better than on each of 49 shuffles


def test_the_attack_finds_a_leak_where_there_is_one(asked: list[ForecastProblem], outcomes: np.ndarray) -> None:
    """Were every third question worded by its outcome, the same classifier would say so."""
    worded = [
        one.text.replace("Will ", "Is it likely that ").replace("By ", "Come ") if happened and place % 3 else one.text
        for place, (one, happened) in enumerate(zip(asked, outcomes, strict=True))
    ]
    auc, p = _p_value(_words(worded), outcomes, rounds=19)
    assert auc > 0.6
    assert p == 1 / 20


def test_no_classifier_tells_the_outcome_by_what_is_beside_the_text(
    asked: list[ForecastProblem], outcomes: np.ndarray
) -> None:
    rows = [
        {
            "market": one.market,
            "type": one.subtype,
            "horizon": one.horizon,
            "level": one.level,
            "authority": (one.details or {})["Authority"],
            "number": int(one.key[-5:].strip("MCB")) / 1000,
            "place": place / len(asked),
            "days": (one.settled_ns - one.generated_ns) / 10**9 / 86_400 / 90,
        }
        for place, one in enumerate(asked)
    ]
    _, p = _p_value(DictVectorizer().fit_transform(rows), outcomes)
    assert p > 1 / 50


def test_reading_the_news_pays_and_does_not_decide(stories: StoryWorld) -> None:
    leanings, happened = [], []
    for number in (0, 3, 6, 9):
        week = week_of(number)
        drafts, _ = EventGenerator().drafts(as_of(stories, week), week)
        for one in review(drafts, week).drafts:
            ruling = stories.ruling(problem_of(one, week, {}).about) if one.signal.level == "macro" else None
            if ruling is not None:
                leanings.append(one.leaning)
                happened.append(ruling.happened)
    assert 0.55 < roc_auc_score(happened, leanings) < 0.9


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("nonsense", {"text": "asdf qwer"}),
        ("nonsense", {"text": "The committee will decide on a change of rates of at least 25 by 2025-12-19."}),
        ("nonsense", {"text": "Will it? Will it not? Will {actor} do anything by 2025-12-19?"}),
        ("nonsense", {"text": "Will will will will will will will will will will will will?"}),
        ("taxonomy", {"kind": "Z9"}),
        ("leading", {"text": "Will the office, as expected, announce a change of at least 25 by 2025-12-19?"}),
        ("leading", {"text": "Will the office finally announce a change of at least 25 by 2025-12-19?"}),
        ("unanswerable", {"authority": ""}),
        ("unanswerable", {"by": None}),
        ("unanswerable", {"by": date(2031, 1, 1)}),
        ("unanswerable", {"text": "Will the office announce a significant change of rates by 2025-12-19?"}),
        ("certain", {"uncertainty": 0.1}),
    ],
)
def test_bad_questions_are_refused_with_the_rule_that_they_break(
    draft: ProposedQuestion, rule: str, change: dict[str, object]
) -> None:
    assert broken_rule(draft, WEEK) is None
    changed = replace(draft, **change)
    if rule in {"leading", "unanswerable"} and "text" in change:
        day, bound = f"{draft.by}", f"at least {draft.threshold:g}"
        changed = replace(changed, text=changed.text.replace("2025-12-19", day).replace("at least 25", bound))
    assert broken_rule(changed, WEEK) == rule
    found = review([changed, draft], WEEK)
    assert found.refused == {rule: 1}
    assert found.examples[rule] == changed.text
    assert rule in RULES


def test_two_questions_in_one_are_refused(draft: ProposedQuestion) -> None:
    text = draft.text.replace("?", " and will it also cut its budget?")
    assert broken_rule(replace(draft, text=text), WEEK) == "unanswerable"


@pytest.mark.parametrize("days", [-30, -1, 2, 200])
def test_a_day_outside_of_the_horizon_is_refused(draft: ProposedQuestion, days: int) -> None:
    by = datetime.fromtimestamp(WEEK.deadline_ns / 10**9, UTC).date() + timedelta(days=days)
    changed = replace(draft, by=by, text=draft.text.replace(str(draft.by), str(by)))
    assert broken_rule(changed, WEEK) == "horizon"


def test_what_is_asked_or_nearly_asked_is_not_asked_again(draft: ProposedQuestion) -> None:
    assert broken_rule(draft, WEEK, [draft]) == "duplicate"
    assert broken_rule(draft, WEEK, [], [draft.key]) == "duplicate"
    assert draft.by is not None
    second_desk = replace(draft, signal=replace(draft.signal, story="OTHER0001"))
    assert broken_rule(second_desk, WEEK, [], [draft.key]) == "duplicate"
    later = draft.by + timedelta(days=40)
    far = replace(second_desk, by=later, text=draft.text.replace(str(draft.by), str(later)))
    assert broken_rule(far, week_of(5), [], [draft.key]) is None


def test_what_has_ended_is_no_signal_and_its_question_is_refused(stories: StoryWorld, draft: ProposedQuestion) -> None:
    statement = Document(
        "late", datetime(2025, 11, 12, tzinfo=UTC), draft.authority, True, "Statement",
        f"The board confirms: {draft.signal.phrase}. The figure is 3.", draft.signal.subject, draft.signal.story,
    )  # fmt: skip
    told = replace(draft, signal=replace(draft.signal, documents=(*draft.signal.documents, statement)))
    assert broken_rule(told, WEEK) == "resolved"
    world = as_of(stories, WEEK)
    begin = world.as_of - timedelta(weeks=14)
    names = {one.story for one in RuleSignals().detect(world, begin, world.as_of).signals}
    assert draft.signal.story in names
    with_it = replace(world, documents=[*world.documents, statement])
    assert draft.signal.story not in {one.story for one in RuleSignals().detect(with_it, begin, world.as_of).signals}


def test_noise_is_told_from_events(stories: StoryWorld) -> None:
    world = as_of(stories, WEEK)
    found = RuleSignals().detect(world, world.as_of - timedelta(weeks=14), world.as_of)
    assert not any(one.story[2] == "N" for one in found.signals)
    assert {"routine", "compound", "resolved", "no uncertainty"} <= found.refused.keys()


def test_the_selection_is_balanced_and_takes_the_uncertain(stories: StoryWorld) -> None:
    drafts, _ = EventGenerator().drafts(as_of(stories, WEEK), WEEK)
    reviewed = [one for one in review(drafts, WEEK).drafts if one.signal.level == "corporate"]
    taken = select(reviewed, WEEK, 24)
    assert len(taken) == 24
    assert max(Counter(one.kind for one in taken).values()) <= 2
    assert abs(np.mean([one.leaning for one in taken]) - 0.5) < 0.1
    assert taken == select(reviewed[::-1], WEEK, 24)
