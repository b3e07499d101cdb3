"""A score that workers compute in parts is the one that a single process computes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import SubmissionError
from openfingym.metrics.resampling import block_bootstrap, grouped
from openfingym.metrics.sampling_error import Replicates
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.scoring.kept_scores import score_document
from openfingym_verifier.scoring.parts import compute_part, joined, parts_of
from openfingym_verifier.scoring.truth import Action, Grader, HiddenTask, load_task
from openfingym_verifier.scoring.worker import score
from openfingym_verifier.scoring.workers import Workers

KINDS = ("curves", "rows", "nodes", "graphs", "windows", "futures")


@pytest.fixture
def two_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    pool = Workers(count=2, timeout_s=120.0)
    yield pool
    pool.close()


def in_parts(grader: Grader, action: Action, values: np.ndarray, workers: int) -> dict[str, object]:
    parts = parts_of(grader, action, workers)
    return score_document(joined(parts, [compute_part(grader, action, part, values) for part in parts]))


@pytest.mark.parametrize("name", KINDS)
def test_parts_join_to_the_whole_score_to_the_last_bit(kinds: dict[str, BuiltPackage], name: str) -> None:
    grader = load_task(kinds[name]).grader
    for action in ("public", "private"):
        whole = score_document(score(grader, action, grader.baseline))
        for workers in (1, 2, 5):
            # As text: no value on a replicate is NaN, which equals nothing.
            assert str(in_parts(grader, action, grader.baseline, workers)) == str(whole)


@given(units=st.integers(60, 400), workers=st.integers(1, 40), seed=st.integers(0, 99))
def test_every_replicate_is_in_one_part(units: int, workers: int, seed: int) -> None:
    for design in (grouped(units, 20), block_bootstrap(units, seed)):
        assert design is not None
        grader: Any = type("AnyGrader", (), {"design": design, "walks": False})()
        fold, *pairs = parts_of(grader, "private", workers)
        assert fold == "fold"
        assert [draw for pair in pairs for draw in range(*pair)] == list(range(len(design.draws)))
        values = {"mse": np.random.default_rng(seed).standard_normal(len(design.draws))}
        whole = Replicates.of(design, values)
        cut = [Replicates.of(design, {"mse": values["mse"][slice(*pair)]}) for pair in pairs]
        assert Replicates.joined(cut).to_dict() == whole.to_dict()


def test_two_workers_share_one_score(two_workers: Workers, kinds: dict[str, BuiltPackage]) -> None:
    task = load_task(kinds["windows"])
    shared = asyncio.run(two_workers.score(task, "private", task.grader.baseline))
    assert len(two_workers.pids) == 2
    assert score_document(shared) == score_document(task.grader.baseline_score())
    afresh = asyncio.run(two_workers.score(task, "private", task.grader.baseline, afresh=True))
    assert score_document(afresh) == score_document(shared)


def test_why_an_answer_is_refused_does_not_depend_on_which_worker_is_quicker(
    two_workers: Workers, kinds: dict[str, BuiltPackage]
) -> None:
    """Both the check and the metrics refuse it, and the metrics do at once: the check is what counts."""
    task: HiddenTask = load_task(kinds["windows"])
    copies = np.array(kinds["windows"].array("train_targets"))[: task.shape[0]]
    # Of no use to the check, and one channel too many for the metrics.
    truth = task.grader.public.truth
    wide = replace(truth, arrays={**truth.arrays, "real": np.repeat(truth.arrays["real"], 2, axis=2)})
    task = replace(task, grader=replace(task.grader, public=replace(task.grader.public, truth=wide)))
    with pytest.raises(SubmissionError) as alone:
        task.grader.public_score(copies)
    assert alone.value.problem != "memorised"
    for _ in range(3):
        with pytest.raises(SubmissionError) as caught:
            asyncio.run(two_workers.score(task, "public", copies))
        assert caught.value.problem == "memorised"
