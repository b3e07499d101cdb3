"""Hidden labels are found in any order and encoding that gives them away; honest features are left alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import roc_auc_score

from openfingym.leaks import find_leak, find_leaks
from openfingym.leaks.labels import Labels, auroc_columns, search_label_numbers
from tests.sweeps import sweep

NODES = 2000


@dataclass(frozen=True, eq=False)
class Case:
    labels: NDArray[np.int64]
    ids: NDArray[np.int64]

    @property
    def hidden(self) -> NDArray[np.int64]:
        return self.labels[self.ids]

    @property
    def anomalies(self) -> NDArray[np.int64]:
        return self.ids[self.hidden == 1]


def _case(seed: int = 0, rate: float = 0.1) -> Case:
    generator = np.random.default_rng(seed)
    return Case((generator.random(NODES) < rate).astype(np.int64), np.sort(generator.permutation(NODES)[:1200]))


def _column(values: NDArray[Any], place: int = 3) -> NDArray[np.float64]:
    features = np.random.default_rng(9).standard_normal((len(values), 5))
    features[:, place] = values
    return features


def _seen(case: Case) -> NDArray[np.int64]:
    """Labels of the training nodes, and -1 for all others."""
    seen = case.labels.copy()
    seen[case.ids] = -1
    return seen


LEAKS: dict[str, Callable[[Case], Any]] = {
    "labels in order": lambda c: c.hidden,
    "labels in order, int8": lambda c: c.hidden.astype(np.int8),
    "labels in order, bool": lambda c: c.hidden.astype(bool),
    "labels in order, inverted float": lambda c: 1.0 - c.hidden,
    "labels in order, minus one": lambda c: 2 * c.hidden - 1,
    "half of the labels in order": lambda c: np.concatenate([np.full(50, 7), c.hidden[300:900]]),
    "labels of all nodes": lambda c: c.labels,
    "a feature that is the label": lambda c: _column(c.labels),
    "a feature that separates": lambda c: _column(c.labels + np.random.default_rng(1).uniform(0.0, 0.9, NODES)),
    "a feature that separates, negated": lambda c: _column(
        -5.0 * c.labels - np.random.default_rng(1).uniform(0.0, 0.9, NODES)
    ),
    "a feature that nearly always separates": lambda c: _column(
        c.labels + 0.2 * np.random.default_rng(1).standard_normal(NODES)
    ),
    "features by column": lambda c: _column(c.labels).T.copy(),
    "a feature of hidden rows": lambda c: _column(c.hidden),
    "the anomalies": lambda c: c.anomalies,
    "the anomalies, shuffled": lambda c: np.random.default_rng(2).permutation(c.anomalies),
    "the anomalies among training nodes": lambda c: np.flatnonzero(c.labels),
    "the normal nodes": lambda c: c.ids[c.hidden == 0],
    "anomalies first": lambda c: c.ids[np.argsort(1 - c.hidden, kind="stable")],
    "node and label": lambda c: np.random.default_rng(2).permutation(np.stack([c.ids, c.hidden], axis=1)),
    "json list": lambda c: json.dumps(c.hidden.tolist()).encode(),
    "json by node": lambda c: json.dumps({str(i): int(v) for i, v in zip(c.ids, c.hidden, strict=True)}).encode(),
    "json of anomalies": lambda c: json.dumps({"nodes": NODES, "outliers": c.anomalies.tolist()}).encode(),
    "csv by node": lambda c: (
        "node,label,x\n" + "\n".join(f"{i},{v},0.5" for i, v in zip(c.ids, c.hidden, strict=True))
    ).encode(),
    "words": lambda c: "\n".join("fraud" if v else "normal" for v in c.hidden).encode(),
    "true and false": lambda c: json.dumps([bool(v) for v in c.hidden]).encode(),
    "digits": lambda c: b"LABELS = '" + "".join(map(str, c.hidden)).encode() + b"'",
    "raw bytes": lambda c: b"head" + c.hidden.astype(np.uint8).tobytes(),
    "raw big-endian": lambda c: b"x" + c.hidden.astype(">i4").tobytes(),
    "bits": lambda c: b"abc" + np.packbits(c.hidden.astype(np.uint8)).tobytes(),
    "bits, little": lambda c: np.packbits(c.hidden.astype(np.uint8), bitorder="little").tobytes(),
    "base64": lambda c: b"L = '" + base64.b64encode(c.hidden.astype(np.uint8).tobytes()) + b"'",
    "base64 of bits": lambda c: b"L = '" + base64.b64encode(np.packbits(c.hidden.astype(np.uint8)).tobytes()) + b"'",
}


def _write(path: Path, content: Any) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with path.open("wb") as stream:
            np.save(stream, content)


def _honest(folder: Path, case: Case) -> None:
    """What the public half of a graph task holds."""
    generator = np.random.default_rng(5)
    train = np.setdiff1d(np.arange(NODES), case.ids)
    edges = np.sort(generator.integers(0, NODES, (2, 9000)), axis=0)
    for name, array in {
        "edges": edges[:, np.lexsort(edges[::-1])],
        "features": np.column_stack(
            [_column(generator.standard_normal(NODES)), case.labels + generator.standard_normal(NODES)]
        ),
        "train_nodes": train,
        "train_labels": case.labels[train],
        "test_nodes": case.ids,
        "visible_labels": _seen(case),
    }.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "README.md").write_text(
        f"{NODES} nodes, {len(case.ids)} to score; no, these are normal numbers: 0, 1, 0, 1, 1."
    )


@pytest.mark.parametrize("leak", LEAKS)
def test_labels_are_found(leak: str, tmp_path: Path) -> None:
    case = _case()
    _honest(tmp_path, case)
    _write(tmp_path / "planted", LEAKS[leak](case))
    found = find_leak(tmp_path, {"labels": case.hidden}, ids=case.ids)
    assert found is not None
    assert "planted" in str(found)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_honest_graphs_pass(seed: int, rate: float, tmp_path: Path) -> None:
    case = _case(seed, rate)
    _honest(tmp_path, case)
    assert find_leak(tmp_path, {"labels": case.hidden}, ids=case.ids) is None


@pytest.mark.parametrize(
    "leak", sweep(sorted(set(LEAKS) - {"half of the labels in order", "the anomalies among training nodes"}), 5)
)
def test_labels_of_another_graph_are_no_leak(leak: str, tmp_path: Path) -> None:
    case, other = _case(), _case(seed=1)
    _honest(tmp_path, case)
    _write(tmp_path / "planted", LEAKS[leak](Case(other.labels, case.ids)))
    # Encoded text may hide anything, and so may many numbers; they are reported as that.
    assert {leak.finding for leak in find_leaks(tmp_path, {"labels": case.hidden}, ids=case.ids)} <= {
        "text of unexplained entropy",
        "numbers that nothing explains",
    }


@pytest.mark.parametrize("form", ["npy", "npz"])
@pytest.mark.parametrize("planted", ["presence", "value", "count", None])
def test_sparse_features_are_searched(form: str, planted: str | None, tmp_path: Path) -> None:
    case = _case()
    matrix = sparse.random(NODES, 400, density=0.05, format="lil", random_state=0)
    if planted == "presence":
        matrix[:, 37] = case.labels
    elif planted == "value":
        matrix[:, 37] = case.labels * 2.0 - 1.0
    elif planted == "count":
        matrix[np.flatnonzero(case.labels), :80] = 1.0
    rows = matrix.tocsr()
    if form == "npz":
        sparse.save_npz(tmp_path / "features.npz", rows)
    else:
        for name, array in {"indptr": rows.indptr, "indices": rows.indices, "values": rows.data}.items():
            np.save(tmp_path / f"features_{name}.npy", array)
    found = find_leak(tmp_path, {"labels": case.hidden}, ids=case.ids)
    assert (found is None) == (planted is None)


def test_node_numbers_must_not_tell_the_classes_apart(tmp_path: Path) -> None:
    labels = np.repeat([1, 0], [100, 900])
    found = find_leak(tmp_path, {"labels": labels}, ids=np.arange(1000))
    assert found is not None
    assert "shuffle" in str(found)


def test_graphs_have_labels_without_node_numbers(tmp_path: Path) -> None:
    labels = np.random.default_rng(0).integers(0, 2, 300)
    np.save(tmp_path / "sizes.npy", np.random.default_rng(1).integers(20, 25, 300))
    assert find_leak(tmp_path, {"labels": labels}) is None
    np.save(tmp_path / "sizes.npy", 20 + 3 * labels)
    assert find_leak(tmp_path, {"labels": labels}) is not None


def test_too_few_labels_prove_nothing() -> None:
    labels = Labels("labels", np.array([1, 0, 0, 1, 0], dtype=np.uint8), None)
    assert search_label_numbers(np.array([1.0, 0.0, 0.0, 1.0, 0.0]), labels) is None


def test_auroc_agrees_with_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    values = np.round(generator.standard_normal((80, 7)), 1)
    labels = (generator.random(80) < 0.3).astype(np.uint8)
    expected = [roc_auc_score(labels, column) for column in values.T]
    np.testing.assert_allclose(auroc_columns(values, labels), expected, rtol=1e-12)


@pytest.mark.parametrize("wanted", [1, 0])
def test_half_of_a_class_is_the_fewest_that_are_looked_for(wanted: int) -> None:
    ids = np.random.default_rng(3).permutation(900)[:401]
    values = (np.arange(401) < 71 if wanted else np.arange(401) >= 71).astype(np.uint8)
    labels = Labels("labels", np.random.default_rng(4).permutation(values), ids)
    half = ids[labels.values == wanted][:36]
    assert labels.fewest == len(half)
    assert search_label_numbers(half, labels) is not None
    assert search_label_numbers(half[1:], labels) is None


def test_a_stretch_is_the_fewest_where_nothing_has_a_number() -> None:
    labels = Labels("labels", np.random.default_rng(5).integers(0, 2, 400).astype(np.uint8), None)
    part = min(labels.stretches, key=lambda part: part.stop - part.start)
    assert search_label_numbers(1.0 - labels.values[part], labels) is not None
    assert search_label_numbers(labels.values[part][1:], labels) is None
    few = Labels("labels", np.array([1, 0] * 20, dtype=np.uint8), None)
    assert (few.stretches, few.fewest, few.separable) == ((), 40, False)
