"""Whoever wrote down all that happens in one simulated world knows nothing of the next rollout's.

The attack: know every event of the world that was played before, with its day, and answer each question by what
happened there; where nothing did, answer as the baseline does. On the given tape, where every rollout has one world, it
is right each time, as an agent nearly is that looks up at each question what became of the earlier ones.

Before each rollout had a world of its own, its loss was a hundredth of the baseline's in the second rollout; now it is
the baseline's. The same on a season of figures and events: whoever knows all truths of another world, and answers by
them wherever its question has the same series or company, period and measure, gains no more than who draws a world of
the simulator, which is public.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.kinds.qa import vault_of
from openfingym.packages.build import build
from openfingym.packages.tapes import Tape
from openfingym.suites.suite import SuiteQuestion
from openfingym_suites.findeepforecast.suite import SUITE
from openfingym_suites.mirai.answers import CodeAnswer
from openfingym_suites.mirai.splits import Query
from openfingym_verifier.scoring.truth import HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden

TASK = "mirai-relation-forecast"
EVER = "9000-01-01T00:00:00+00:00"
Recording = dict[tuple[object, object, object], set[object]]
"""The relations of each day, head and tail."""


@pytest.fixture(scope="module")
def given(store_home: Path) -> HiddenTask:
    return load_hidden(build(load_task(TASK)))


def recording(task: HiddenTask) -> Recording:
    """All that happens in a task's world, the days that are asked about included."""
    vault = vault_of(task.spec.contract, str(task.package.array("snapshot")[0]), task.hidden)  # type: ignore[arg-type]
    assert vault is not None
    found: Recording = defaultdict(set)
    for row in vault.as_of(EVER).rows("event_totals"):
        found[str(row["date"]), row["head"], row["tail"]].add(row["relation"])
    return found


def loss(task: HiddenTask, known: Recording) -> float:
    """The relative total of whoever answers by a recording."""
    texts = task.data.get("test_questions", task.package.array("test_questions"))
    answers = np.array(task.grader.baseline)
    for place, text in enumerate(texts):
        asked = SuiteQuestion.from_json(str(text)).query
        if happened := known.get((asked["date"], asked["head"], asked["tail"])):
            query = Query("", date.min, "", "", "", tuple(sorted(map(str, happened))))
            answers[place, 1:] = CodeAnswer(query.by_root).numbers()
    return task.relative_total(task.grader.private_score(answers), task.grader.baseline_score())


def test_questions_on_a_recorded_world(given: HiddenTask) -> None:
    worlds = [given, *(given.on(Tape("fresh", seed), f"{TASK}/{seed}") for seed in (1, 2**255))]
    recordings = [recording(world) for world in worlds]
    for place, world in enumerate(worlds):
        assert loss(world, recordings[place]) < 0.02, "the attack wins nothing where it must, so that nothing is shown"
        for known in recordings[:place]:
            assert loss(world, known) == pytest.approx(1.0, abs=0.05)
    # All had the same until they parted.
    past = [{key: value for key, value in known.items() if str(key[0]) < "2024-01-01"} for known in recordings]
    assert past[0] == past[1] == past[2]


SEASON = "findeepforecast"


def truths_of(task: HiddenTask) -> dict[tuple[object, ...], np.ndarray]:
    """The truths of all questions that a task asks, by what they are about."""
    return {_about(question): task.hidden["targets"][place] for place, question in enumerate(_asked(task))}


def _asked(task: HiddenTask) -> list[SuiteQuestion]:
    texts = task.data.get("test_questions", task.package.array("test_questions"))
    return [SuiteQuestion.from_json(str(text)) for text in texts]


def _about(question: SuiteQuestion) -> tuple[object, ...]:
    query = question.query
    names = ("subject", "measure", "period") if "period" in query else ("subject", "event", "by")
    return tuple(query[name] for name in names)


def loss_of_season(task: HiddenTask, known: Mapping[tuple[object, ...], np.ndarray]) -> tuple[float, int]:
    """The relative total of whoever answers by other truths, and how many questions they are of."""
    answers, form, count = np.array(task.grader.baseline), SUITE.form({"tools": "full"}), 0
    for place, question in enumerate(_asked(task)):
        if (truth := known.get(_about(question))) is not None:
            answers[place, 1:] = form.read(form.write(truth))
            count += place >= task.manifest.n_public
    return task.relative_total(task.grader.private_score(answers), task.grader.baseline_score()), count


def test_a_season_in_a_recorded_world(store_home: Path) -> None:
    given = load_hidden(build(load_task(SEASON)))
    world = given.on(Tape("fresh", 2**255), f"{SEASON}/1")
    assert len(_asked(world)) == len(_asked(given))
    for one, other in ((given, world), (world, given)):
        total, count = loss_of_season(one, truths_of(one))
        assert (total, count) == (pytest.approx(0.01, abs=0.001), one.manifest.n_private), "the attack wins nothing"
        total, count = loss_of_season(one, truths_of(other))
        # Macro series have their names in every world, and some of them hardly move.
        assert 100 < count < 0.25 * one.manifest.n_private
        assert 0.97 < total < 1.03
