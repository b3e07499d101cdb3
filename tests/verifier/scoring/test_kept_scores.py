"""Scores of baselines that are kept between verifiers."""

from __future__ import annotations

import asyncio
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from openfingym.metrics import Score
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.scoring.grading import Grading
from openfingym_verifier.scoring.kept_scores import FOLDER, score_document, store_score, stored_score
from openfingym_verifier.scoring.truth import Action, HiddenTask, load_task
from openfingym_verifier.scoring.workers import Workers


@pytest.fixture
def task(kinds: dict[str, BuiltPackage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HiddenTask:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    return load_task(kinds["windows"])


class Counting(Workers):
    """Workers that score in this process, and count how often."""

    asked = 0

    async def score(self, task: HiddenTask, action: Action, values: object = None, *, afresh: bool = False) -> Score:
        assert action == "baseline"
        self.asked += 1
        return task.grader.baseline_score()


def baseline(task: HiddenTask) -> tuple[Score, int]:
    """What a verifier that has just started says, and how often it computed it."""
    workers = Counting()
    with ThreadPoolExecutor(1) as threads:
        try:
            return asyncio.run(Grading(threads, workers).baseline(task)), workers.asked
        finally:
            workers.close()


def the_file(home: Path) -> Path:
    (found,) = (home / FOLDER).iterdir()
    return found


def test_the_next_verifier_reads_what_the_first_one_computed(task: HiddenTask, tmp_path: Path) -> None:
    first, computed = baseline(task)
    again, more = baseline(task)
    assert (computed, more) == (1, 0)
    assert score_document(again) == score_document(first)
    assert first.replicates is not None
    assert stat.S_IMODE((tmp_path / FOLDER).stat().st_mode) == 0o700


def test_a_damaged_file_is_computed_again_and_replaced(task: HiddenTask, tmp_path: Path) -> None:
    first, _ = baseline(task)
    whole = the_file(tmp_path).read_text()
    better = json.loads(whole)
    better["score"]["total"] /= 2
    for damaged in (whole[: len(whole) // 2], "", "[]", "{}", json.dumps(better)):
        the_file(tmp_path).write_text(damaged)
        found, computed = baseline(task)
        assert computed == 1
        assert score_document(found) == score_document(first)
        assert the_file(tmp_path).read_text() == whole


def test_another_answer_labels_or_terms_have_another_score(task: HiddenTask) -> None:
    store_score(task, task.grader.baseline_score())
    other = replace(task.grader, baseline=task.grader.baseline + 0.001)
    assert stored_score(task) is not None
    assert stored_score(replace(task, grader=other)) is None
    assert stored_score(replace(task, manifest=replace(task.manifest, truth_digest="0" * 64))) is None


def test_of_the_tape_of_one_rollout_nothing_is_kept(task: HiddenTask, tmp_path: Path) -> None:
    for one in (replace(task, identity=f"{task.name}/r1"), replace(task, split="train"), replace(task, heavy=False)):
        store_score(one, task.grader.baseline_score())
    assert not (tmp_path / FOLDER).exists()


def test_a_store_that_cannot_be_written_costs_time_alone(task: HiddenTask, tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file in its place")
    assert baseline(task)[1] == baseline(task)[1] == 1
