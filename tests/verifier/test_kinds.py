"""Every kind of task, from bytes to a result, against the metrics recomputed here from the hidden arrays."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from openfingym.errors import SubmissionError
from openfingym.kinds import kind_of
from openfingym.packages.package import BuiltPackage
from tests.answering import give, practise
from tests.sweeps import fixed_part

SLUG = "urn:openfingym:problem:"
AXES = {"rows": 1, "nodes": 1, "graphs": 1, "curves": 3, "windows": 3, "futures": 4}
AT_ONCE = [name for name in AXES if name not in {"rows", "curves", "futures"}]
"""Kinds that are answered in one array."""


def naive(package: BuiltPackage) -> np.ndarray:
    kind, contract = kind_of(package.task), package.task.spec.contract
    return kind.naive(contract, package.shown_array, package.manifest.submission_shape)


def oracle(package: BuiltPackage) -> np.ndarray:
    kind, contract = kind_of(package.task), package.task.spec.contract
    return kind.oracle(contract, package.read_truth(), package.manifest.submission_shape)


def table(values: np.ndarray, labels: tuple[str, ...]) -> pa.Table:
    flat = values.reshape(-1, len(labels))
    return pa.table({name: flat[:, i] for i, name in enumerate(labels)})


def arrow(data: pa.Table, *, file: bool) -> bytes:
    sink = io.BytesIO()
    with (pa.ipc.new_file if file else pa.ipc.new_stream)(sink, data.schema) as writer:
        writer.write_table(data)
    return sink.getvalue()


def encode(media_type: str, values: np.ndarray, labels: tuple[str, ...]) -> bytes:
    sink = io.BytesIO()
    match media_type:
        case "application/x-npy":
            np.save(sink, values)
        case "application/x-npz":
            np.savez(sink, predictions=values)
        case "application/json":
            return json.dumps({"predictions": values.tolist()}).encode()
        case "application/vnd.apache.parquet":
            pq.write_table(table(values, labels), sink)
        case _:
            return arrow(table(values, labels), file=media_type.endswith("file"))
    return sink.getvalue()


MEDIA_TYPES = (
    "application/x-npy",
    "application/x-npz",
    "application/json",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.parquet",
)


@pytest.mark.parametrize("name", fixed_part(AT_ONCE, 2))
def test_every_media_type_carries_every_number_of_axes(
    kinds_server: Any, kinds: dict[str, BuiltPackage], name: str
) -> None:
    package, values = kinds[name], naive(kinds[name])
    assert values.ndim == AXES[name]
    tokens = [kinds_server.client.create_rollout(name) for _ in range(2)]
    feedback = set()
    for i, media_type in enumerate(MEDIA_TYPES):
        ticket = tokens[i % 2]
        answer = kinds_server.post(ticket.token, encode(media_type, values, package.manifest.labels), media_type)
        assert answer.status_code == 201, (media_type, answer.text)
        feedback.add(str(answer.json()["feedback"]))
        np.testing.assert_array_equal(kinds_server.client.submission(ticket.rollout_id, i // 2 + 1), values)
    assert len(feedback) == 1


@pytest.mark.parametrize("name", AXES)
def test_the_baseline_is_worth_one_and_the_truth_more(
    kinds_server: Any, kinds: dict[str, BuiltPackage], name: str
) -> None:
    results = []
    for values in (naive(kinds[name]), oracle(kinds[name])):
        ticket = kinds_server.client.create_rollout(name)
        give(kinds_server.client, ticket.token, kinds[name], values)
        results.append(kinds_server.client.finalize(ticket.rollout_id))
    base, best = results
    assert base.relative_total == pytest.approx(1.0)
    assert base.metrics == base.baseline_metrics == best.baseline_metrics
    assert base.total == base.baseline_total
    assert best.relative_total < 0.5
    assert best.baseline == kinds[name].task.spec.scoring.baseline


def test_nodes_are_ranked_within_their_fold(kinds_server: Any, kinds: dict[str, BuiltPackage]) -> None:
    package = kinds["nodes"]
    labels, n = package.read_truth()["labels"], package.manifest.n_public
    scores = np.random.default_rng(0).normal(size=labels.shape) + labels
    ticket = kinds_server.client.create_rollout("nodes")
    feedback = kinds_server.client.submit(ticket.token, scores)
    assert feedback.metrics["auroc"] == float(f"{roc_auc_score(labels[:n], scores[:n]):.2e}")
    result = kinds_server.client.finalize(ticket.rollout_id)
    assert result.metrics["auroc"] == pytest.approx(roc_auc_score(labels[n:], scores[n:]), rel=1e-12)


def test_graphs_are_classified_within_their_fold(kinds_server: Any, kinds: dict[str, BuiltPackage]) -> None:
    package = kinds["graphs"]
    labels, n = package.read_truth()["labels"], package.manifest.n_public
    scores = np.clip(0.4 * np.random.default_rng(0).uniform(size=labels.shape) + 0.4 * labels, 0.0, 1.0)
    ticket = kinds_server.client.create_rollout("graphs")
    kinds_server.client.submit(ticket.token, scores)
    result = kinds_server.client.finalize(ticket.rollout_id)
    assert result.metrics["f1"] == pytest.approx(f1_score(labels[n:], scores[n:] >= 0.5), rel=1e-12)


def test_rows_are_scored_by_their_fold(kinds_server: Any, kinds: dict[str, BuiltPackage]) -> None:
    package = kinds["rows"]
    targets, n = package.read_truth()["targets"], package.manifest.n_public
    values = 0.5 * targets
    ticket = kinds_server.client.create_rollout("rows")
    told = practise(kinds_server.client, ticket.token, package, values)
    assert told["mse"] == float(f"{np.mean((0.5 * targets[:n]) ** 2):.2e}")
    give(kinds_server.client, ticket.token, package, values)
    assert kinds_server.client.finalize(ticket.rollout_id).metrics["mse"] == pytest.approx(
        np.mean((0.5 * targets[n:]) ** 2), rel=1e-12
    )


def refused(server: Any, ticket: Any, values: np.ndarray, to_npy: Any) -> dict[str, str]:
    """The problem document of a refusal, which costs no budget and is on the record."""
    answer = server.post(ticket.token, to_npy(values))
    document: dict[str, str] = answer.json()
    assert answer.status_code == 422, document
    status = server.client.rollout_status(ticket.rollout_id)
    assert (status.submissions_accepted, status.submissions_rejected, status.remaining) == (0, 1, status.budget)
    assert status.last_refusal == f"{document['type'].removeprefix(SLUG)}: {document['detail']}"
    events = [row.entry for row in server.client.log(ticket.rollout_id)]
    assert [event["event"] for event in events] == ["rollout-created", "rejected"]
    assert events[1]["problem"] == document["type"].removeprefix(SLUG)
    return document


def copies_of(package: BuiltPackage) -> np.ndarray:
    shape, windows = package.manifest.submission_shape, np.array(package.array("train_targets"))
    return windows[np.arange(np.prod(shape[:-2])) % len(windows)].reshape(shape)


def test_copies_of_training_windows_are_refused(kinds_server: Any, kinds: dict[str, BuiltPackage], to_npy: Any) -> None:
    ticket = kinds_server.client.create_rollout("windows")
    document = refused(kinds_server, ticket, copies_of(kinds["windows"]), to_npy)
    assert document["type"] == SLUG + "memorised"
    result = kinds_server.client.finalize(ticket.rollout_id)
    assert (result.state, result.submissions_accepted, result.submissions_rejected) == ("rejected", 0, 1)
    assert "memorised" in result.reason


def test_copies_of_training_windows_are_refused_where_a_walk_ends(
    kinds_server: Any, kinds: dict[str, BuiltPackage]
) -> None:
    """Of the fold alone that was walked through: what fills the other one is no answer."""
    package, client = kinds["futures"], kinds_server.client
    n_public, copies, honest = package.manifest.n_public, copies_of(package), naive(package)
    ticket = client.create_rollout("futures")
    with pytest.raises(SubmissionError, match="ended without a score: memorised"):
        client.walk(ticket.token, copies[:n_public], "public")
    [past] = client.rollout_status(ticket.rollout_id).submissions
    assert past.feedback is not None
    assert past.feedback.total is None
    practised = client.walk(ticket.token, honest[:n_public], "public")
    assert practised.info["feedback"]["total"] is not None, "another practice is another walk"  # type: ignore[index]
    client.walk(ticket.token, copies[n_public:])
    result = client.finalize(ticket.rollout_id)
    assert (result.state, result.reason.partition(":")[0]) == ("rejected", "memorised")
    ticket = client.create_rollout("futures")
    client.walk(ticket.token, honest[n_public:])
    assert client.finalize(ticket.rollout_id).state == "scored"


def test_axes_in_another_order_are_named(kinds_server: Any, kinds: dict[str, BuiltPackage], to_npy: Any) -> None:
    samples, rows, channels = kinds["windows"].manifest.submission_shape
    values = np.swapaxes(naive(kinds["windows"]), 1, 2)
    document = refused(kinds_server, kinds_server.client.create_rollout("windows"), values, to_npy)
    assert document["type"] == SLUG + "wrong-shape"
    assert document["detail"].endswith(
        f"expected [{samples}, {rows}, {channels}]: window, row, channel. The axes are in another order."
    )


def test_a_column_for_a_single_axis_is_named_too(
    kinds_server: Any, kinds: dict[str, BuiltPackage], to_npy: Any
) -> None:
    document = refused(
        kinds_server, kinds_server.client.create_rollout("nodes"), naive(kinds["nodes"])[:, None], to_npy
    )
    assert document["detail"].endswith("There is an axis of length 1 too many.")


@pytest.mark.parametrize("name", AXES)
def test_the_contract_says_what_is_wanted(kinds_server: Any, kinds: dict[str, BuiltPackage], name: str) -> None:
    ticket, manifest = kinds_server.client.create_rollout(name), kinds[name].manifest
    contract = kinds_server.http.get("/v1/task", headers={"Authorization": f"Bearer {ticket.token}"}).json()
    assert tuple(contract["submission_shape"]) == manifest.submission_shape
    assert tuple(contract["submission_axes"]) == manifest.submission_axes
    assert len(contract["submission_axes"]) == AXES[name]
    assert tuple(contract["labels"]) == manifest.labels
    assert contract["kind"] == kinds[name].task.spec.contract.kind
    assert {metric["name"] for metric in contract["metrics"]} == {
        metric.name for metric in kinds[name].task.spec.scoring.metrics
    }
    # Programs read the same in the package; of prices, the verifier refuses more than the contract does.
    told = kinds[name].contract
    assert {key for key in contract if key not in told} == {
        *("task", "task_digest", "n_public", "n_private", "limits", "media_types")
    }
    assert {key: contract[key] for key in contract if key in told and key != "low"} == {
        key: told[key] for key in contract if key in told and key != "low"
    }
    assert contract["low"] >= told["low"]
    assert (contract["n_public"] + contract["n_private"], contract["task"]) == (told["n_test"], told["name"])
