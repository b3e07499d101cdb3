"""Questions are shown to a real program in the order in which they are asked, each time once all before is answered."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.agents import Agent, resolve
from openfingym.catalog import load_task
from openfingym.kinds.asking import QuestionsOrder
from openfingym.kinds.walk import Walk
from openfingym.models.spec import ModelSpec
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.task import Task

pytestmark = pytest.mark.sandbox
TELLS = """
import glob, json, pathlib
import interface, numpy as np

seen = []
for window in interface.iter_test():
    again = next(iter(interface.iter_test()))  # another walk, before this window is answered
    try:
        interface.load("test_texts")
    except ValueError as error:
        refused = str(error)
    files = b"".join(path.read_bytes() for path in pathlib.Path("/task").rglob("*") if path.is_file())
    seen.append({
        "questions": window.questions,
        "same": again.questions == window.questions,
        "found": [q["text"] for q in window.questions if q["text"].encode("utf-32-le") in files],
        "left": window.left,
    })
    window.predict(np.full(window.shape, 0.5))
known = interface.questions()[-1]
searched = known["text"].encode("utf-32-le") in files
print(json.dumps({"seen": seen, "refused": refused, "known": known, "searched": searched}))
"""


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """``event-forecast`` with so many private questions that they are asked at three times."""
    folder = tmp_path_factory.mktemp("tasks") / "waves"
    folder.mkdir()
    text = load_task("event-forecast").config_path.read_text().replace("event-forecast", "waves")
    text, changed = re.subn(r"public = 0.16\nprivate = 0.04", "public = 0.1\nprivate = 0.1", text)
    assert changed == 1
    (folder / "task.toml").write_text(text)
    (folder / "instruction.md").write_text("# Waves\n")
    with Launcher.for_tasks([Task.read(folder)], backend="sandbox") as running:
        yield running


def told(launcher: Launcher, out: Path, **order: Any) -> tuple[Any, dict[str, Any]]:
    result = launcher.run(launcher.packages[0], Agent("test", "program", TELLS), RolloutOrder(**order), out=out)
    assert result.path is not None, result.reason
    return result, json.loads((result.path / "output.log").read_text().splitlines()[-1])


def walk_of(package: BuiltPackage) -> Walk:
    counts = (package.manifest.n_public, package.manifest.n_private)
    return Walk.of(package.read_truth()["test_times"][:, 0], counts)


def test_no_question_is_seen_before_those_asked_earlier_were_answered(launcher: Launcher, tmp_path: Path) -> None:
    package = launcher.packages[0]
    hidden, walk = package.read_truth(), walk_of(package)
    assert package.contract["windows"] == {"public": 3, "private": 3}
    result, said = told(launcher, tmp_path)
    assert (result.state, result.relative_total) == ("scored", pytest.approx(0.25 / result.baseline_total))
    seen = said["seen"]
    assert [one["left"] for one in seen] == [3, 2, 1]
    assert all(one["same"] for one in seen), "a walk begun anew shows what is to be answered, and nothing later"
    for window, one in zip(walk.windows("private"), seen, strict=True):
        items = walk.items(window)
        assert [question["text"] for question in one["questions"]] == hidden["test_texts"][items].tolist()
        known = [list(question["known"].values()) for question in one["questions"]]
        np.testing.assert_array_equal(known, hidden["test_inputs"][items])
        moments = [
            [question[name].rstrip("Z") for name in ("asked", "deadline", "resolves")] for question in one["questions"]
        ]
        np.testing.assert_array_equal(np.array(moments, "datetime64[ns]"), hidden["test_times"][items])
        assert len({question["asked"] for question in one["questions"]}) == 1
        assert not any("outcome" in question for question in one["questions"])
    # What is asked later is asked once everything before it could be resolved.
    for before, after in itertools.pairwise(seen):
        assert max(one["resolves"] for one in before["questions"]) < after["questions"][0]["asked"]
    assert not any(one["found"] for one in seen), "no hidden question is in a file that the program can read"
    assert said["searched"], "a training question is found there"
    assert "no array 'test_texts'" in said["refused"]
    assert said["known"]["outcome"] == package.array("train_targets")[-1]


def test_questions_that_are_asked_as_a_rollout_begins_are_one_window(launcher: Launcher, tmp_path: Path) -> None:
    result, said = told(launcher, tmp_path, questions=QuestionsOrder("simulated"))
    assert result.state == "scored"
    assert result.total == pytest.approx(0.25)
    assert (result.questions["asked"], result.questions["scored"]) == (149, 149)
    (one,) = said["seen"]
    assert (len(one["questions"]), one["found"], one["same"]) == (149, [], True)
    assert len({question["asked"] for question in one["questions"]}) == 1
    known = np.array([list(question["known"].values()) for question in one["questions"]])
    stored = launcher.packages[0].read_truth()["test_inputs"]
    assert not (known[:, None] == stored[None]).all(axis=2).any(), "each rollout is asked questions of its own"


def test_practice_is_on_the_stored_questions_whatever_counts(launcher: Launcher, tmp_path: Path) -> None:
    source = (
        "import interface, numpy as np\n"
        "print(interface.predict_each(lambda known: np.full(len(known), 0.5), practice=True).total)\n"
        "interface.predict_each(lambda known: np.full(len(known), 0.5))\n"
    )
    totals = []
    for order in (None, QuestionsOrder("simulated")):
        agent = Agent("test", "program", source)
        result = launcher.run(launcher.packages[0], agent, RolloutOrder(questions=order), out=tmp_path)
        assert result.state == "scored", result.reason
        assert result.path is not None
        totals.append(float((result.path / "output.log").read_text()))
    assert totals == [0.25, 0.25]


@pytest.mark.parametrize("clock", [None, "simulated"])
def test_a_model_is_done_when_its_walk_is_whatever_windows_there_are(clock: str | None, launcher: Launcher) -> None:
    """Of a rollout's own questions there is one window, and three of the package's."""
    order = None if clock is None else QuestionsOrder("simulated")
    model = ModelSpec.parse("stand-in/competent")
    result = launcher.run(launcher.packages[0], resolve("react"), RolloutOrder(questions=order), model=model)
    assert (result.state, result.ended_by) == ("scored", "finished"), result.reason


@pytest.mark.parametrize("clock", [None, "simulated"])
@pytest.mark.parametrize("agent", ["naive", "logistic"])
def test_built_in_agents_walk_through_several_times(agent: str, clock: str | None, launcher: Launcher) -> None:
    order = None if clock is None else QuestionsOrder("simulated")
    result = launcher.run(launcher.packages[0], resolve(agent), RolloutOrder(questions=order))
    assert result.state == "scored", result.reason
    assert result.relative_total == pytest.approx(1.0) if agent == "naive" else result.relative_total < 1.1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("interface.load_test_inputs()", "window in interface.iter_test(): window.predict(model(window.inputs))"),
        ("interface.submit([0.5] * 298)", "window in interface.iter_test(): window.predict(model(window.inputs))"),
        ("for window in interface.iter_test(): pass", "3 of 3 windows of the private fold were left unanswered"),
        (
            "for window in interface.iter_test():\n    window.predict([0.5] * len(window.questions))\n    break",
            "2 of 3 windows of the private fold were left unanswered",
        ),
    ],
)
def test_what_is_not_a_walk_is_no_answer(source: str, said: str, launcher: Launcher) -> None:
    result = launcher.run(launcher.packages[0], Agent("test", "program", f"import interface\n{source}"))
    assert result.state == "rejected"
    assert said in str(result.reason)
