"""Tasks that ask what has not happened yet: forms of answers, the baseline, and what a rollout is asked."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.data.processes.draws import Branch
from openfingym.data.questions import QUESTION_SETS, simulated_questions
from openfingym.errors import DataError, SubmissionError, TaskError, UsageError
from openfingym.kinds import is_deferred, kind_of
from openfingym.kinds.asking import QuestionsOrder, ask_simulated, document_of, numbers_of, target_of
from openfingym.packages.build import describe, write_package
from openfingym.packages.package import BuiltPackage
from openfingym.questions.answer import read_answer
from openfingym.task import Task
from openfingym_verifier.scoring.truth import load_task as load_hidden

TASKS = ("polymarket-forecast", "crypto-forecast-live", "equity-forecast-live", "event-forecast")
NOW = 1_795_000_000 * 10**9


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BuiltPackage]:
    """The packages of all tasks of this kind, and of one that asks for point forecasts."""
    root, found = tmp_path_factory.mktemp("questions"), {}
    text = load_task("crypto-forecast-live").config_path.read_text().replace("crypto-forecast-live", "points")
    text = re.sub(r"(?m)^form = .*\nlevels = .*$", 'form = "value"', text)
    text = re.sub(r"(?m)^\[\[metadata.openfingym.scoring.metrics\]\]\nname = .*\nweight = .*\n", "", text)
    text += '\n[[metadata.openfingym.scoring.metrics]]\nname = "mae"\nweight = 1.0\n'
    folder = root / "points"
    folder.mkdir()
    (folder / "task.toml").write_text(text)
    (folder / "instruction.md").write_text("# Points\n")
    for task in (*map(load_task, TASKS), Task.read(folder)):
        package = BuiltPackage(root / task.name / "public", root / task.name / "truth")
        write_package(task, package.public, package.truth)
        found[task.name] = package
    return found


@pytest.mark.parametrize("name", QUESTION_SETS)
def test_hidden_questions_are_drawn_anew_and_training_ones_stay(name: str) -> None:
    own, other, third = (simulated_questions(name, branch) for branch in (None, Branch(1, 300), Branch(2, 300)))
    for one in (other, third):
        np.testing.assert_array_equal(own.features[:-300], one.features[:-300])
        np.testing.assert_array_equal(own.targets[:-300], one.targets[:-300])
    assert not (other.features[-300:] == third.features[-300:]).all(axis=1).any()
    waves = own.times.reshape(-1, 60, 3)
    assert (waves[:-1, :, 2].max(axis=1) < waves[1:, :, 0].min(axis=1)).all()


@pytest.mark.parametrize("name", [*TASKS, "points"])
def test_every_form_is_scored_asked_and_converted_back(name: str, built: dict[str, BuiltPackage]) -> None:
    package = built[name]
    task, hidden = load_hidden(package), package.read_truth()
    contract, first = task.spec.contract, package.manifest.n_public
    assert is_deferred(contract)
    oracle = kind_of(package.task).oracle(contract, hidden, task.shape)
    assert task.grader.public_score(oracle).total == pytest.approx(0.0, abs=1e-12)
    assert task.grader.private_score(task.grader.baseline).total > 0.0
    asked = ask_simulated(contract, hidden, first, "r0", NOW)
    assert (asked.data["test_times"][:, 0].astype(np.int64) == NOW).all(), "so they are one window"
    assert len(asked.questions) == package.manifest.n_private == len(asked.truths)
    rows = task.grader.baseline[first:].reshape(len(asked.questions), -1)
    for place, question in enumerate(asked.questions):
        assert question.generated_ns == NOW < question.deadline_ns < question.evaluation_ns
        assert "SIMULATED" in question.text
        document = document_of(question, rows[place], float(asked.shown[place]))
        read_answer(question, document)
        back = numbers_of(question, document, float(asked.shown[place]))
        np.testing.assert_allclose(back, rows[place], rtol=1e-9, atol=1e-12)
        found = target_of(question, asked.truths[place], float(asked.shown[place]))
        assert found == pytest.approx(hidden["targets"][first + place], rel=1e-9, abs=1e-12)
        reference = asked.references[place]
        assert reference is None or not question.numeric or reference["price"] == asked.shown[place]


@pytest.mark.parametrize("name", ["crypto-forecast-live", "equity-forecast-live"])
def test_numbers_that_cross_are_refused(name: str, built: dict[str, BuiltPackage]) -> None:
    task = load_hidden(built[name])
    values = task.grader.baseline.copy()
    task.grader.check(values)
    values[3] = values[3][::-1]
    with pytest.raises(SubmissionError, match="question 3: "):
        task.grader.check(values)


def test_questions_that_are_not_in_the_order_in_which_they_are_asked_make_no_package() -> None:
    """A question that is asked later may show what came of one that is asked before it."""
    task = load_task("event-forecast")
    kind = kind_of(task)
    source = kind.load(task)
    times = source.times.copy()
    describe(task, kind.shape(task, source), "")
    times[1300] -= np.timedelta64(365, "D")
    with pytest.raises(DataError, match="in the order of time must be in its order"):
        describe(task, kind.shape(task, replace(source, times=times)), "")


def test_a_median_is_a_point_forecast(built: dict[str, BuiltPackage]) -> None:
    task = load_hidden(built["crypto-forecast-live"])
    values, truth = task.grader.baseline, built["crypto-forecast-live"].read_truth()["targets"]
    first = task.manifest.n_public
    found = task.grader.private_score(values).metrics
    assert found["mae"] == pytest.approx(np.abs(values[first:, 2] - truth[first:]).mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('form = "probability"', 'form = "value"'), "market_implied is for the form probability"),
        (("high = 1.0", "high = 100.0"), "a probability is from low = 0.0 to high = 1.0"),
        (('form = "probability"', 'form = "probability"\nlevels = [0.5]'), "levels must increase"),
        (('provider = "polymarket"', 'provider = "price"'), "venue, markets and horizons"),
        (('name = "mse"', 'name = "pinball"'), "pinball is about quantiles"),
        (('baseline = "market-implied"', 'baseline = "naive"'), "that of a questions task is 'market-implied'"),
    ],
)
def test_what_contradicts_itself_is_refused(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    text = load_task("polymarket-forecast").config_path.read_text()
    assert change[0] in text
    (tmp_path / "task.toml").write_text(text.replace(*change))
    (tmp_path / "instruction.md").write_text("# No\n")
    with pytest.raises(TaskError, match=re.escape(said)):
        Task.read(tmp_path)


def test_there_is_no_third_clock() -> None:
    with pytest.raises(UsageError, match="a simulated clock or the real one"):
        QuestionsOrder("mine")  # type: ignore[arg-type]  # which is the point
