"""Fraud baselines on simulated graphs: what is known without labels, and what labels add."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.metrics.registry import find_metric
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult

Run = Callable[..., RolloutResult]


@pytest.fixture(scope="module")
def cert() -> BuiltPackage:
    """1,000 nodes with six features; seven in a hundred are anomalies."""
    return build(load_task("cert-fraud"))


def auroc(package: BuiltPackage, result: RolloutResult) -> float:
    """Over both folds: either alone is too small to tell a weak detector from chance."""
    assert result.path is not None
    scores = np.load(result.path / "submissions" / "1.npy")
    return find_metric("auroc").compute({"labels": package.read_truth()["labels"], "scores": scores})


def test_anomalies_rank_above_chance(cert: BuiltPackage, run_on: Run) -> None:
    result = run_on(cert, "graph-smooth")
    assert auroc(cert, result) > 0.75
    assert run_on(cert, "graph-smooth", again=True).metrics == result.metrics, "the same seed, the same scores"


def test_without_labels_features_tell_more_than_degrees_where_anomalies_are_injected(run_on: Run) -> None:
    """As on the published graph: isolation-forest 0.752, degree 0.501."""
    package = build(load_task("blogcatalog-fraud"))
    reached = {agent: auroc(package, run_on(package, agent)) for agent in ("isolation-forest", "degree")}
    assert reached["isolation-forest"] == pytest.approx(0.752, abs=0.05)
    assert reached["degree"] == pytest.approx(0.501, abs=0.05)


def test_labels_and_edges_add_to_features(cert: BuiltPackage, run_on: Run) -> None:
    assert auroc(cert, run_on(cert, "graph-smooth")) > auroc(cert, run_on(cert, "isolation-forest")) + 0.1


def test_sparse_features_are_never_made_dense(run_on: Run) -> None:
    """5,196 nodes x 8,189 words would be 340 MB; the programs' own limits would not stop them here, so they are
    asked."""
    package = build(load_task("blogcatalog-fraud"))
    result = run_on(package, "graph-smooth")
    assert result.metrics["auroc"] > 0.9


def test_whole_graphs_are_told_apart_by_their_motifs(run_on: Run) -> None:
    result = run_on(build(load_task("ba2motifs-fraud")), "graph-smooth")
    assert result.metrics["auroc"] > 0.97
