"""Scores of nodes and of whole graphs."""

from __future__ import annotations

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.data.loaded_graphs import load_graph
from openfingym.kinds import graphs, kind_of, nodes
from openfingym_agent.graph import Graph, read_graph, split_graphs
from tests.openfingym.kinds.materials import changed_by_scrambling, made, ranks, read_of


@pytest.fixture(params=["nodes", "graphs"])
def task(request, make):
    return make(request.param)


def test_labels_are_divided_and_the_hidden_ones_in_no_public_array(task) -> None:
    material = made(task)
    kind = task.spec.contract.kind
    known, asked = material.public[f"train_{kind}"], material.public[f"test_{kind}"]
    assert material.shape == (len(asked),)
    assert sorted([*known.tolist(), *asked.tolist()]) == list(range(len(known) + len(asked)))
    assert (len(known), material.n_public, material.n_private) == (400, 200, 400)
    assert set(np.unique(material.hidden["labels"])) == {0, 1}
    assert "graph_labels" not in material.public
    rates = [
        material.public["train_labels"].mean(),
        *(material.hidden["labels"][part].mean() for part in (slice(200), slice(200, None))),
    ]
    assert np.ptp(rates) < 0.01, "every part keeps the anomaly rate"


def test_the_labels_score_best_and_turned_around_worst(task) -> None:
    material = made(task)
    labels = material.hidden["labels"].astype(np.float64)
    found = ranks(task, material, upside_down=1.0 - labels, constant=np.zeros(material.shape))
    assert found["oracle"] < found["baseline"] == 1.0 < found["upside_down"]
    assert found["oracle"] < found["constant"] < found["upside_down"]


def test_exchanging_hidden_labels_changes_no_public_array(make) -> None:
    assert changed_by_scrambling(make("nodes")) == set()


def test_generated_graphs_are_made_from_their_labels(make) -> None:
    task = make("graphs")
    assert graphs.KIND.scramble(task, kind_of(task).load(task), np.random.default_rng(0)) is None


def test_folds_are_the_first_and_the_remaining_items(make) -> None:
    task = make("nodes")
    material = made(task)
    public, private = nodes.KIND.folds(task.spec, read_of(material), material.hidden, (200, 400), 0)
    assert np.array_equal(public.truth.arrays["labels"], material.hidden["labels"][:200])
    assert np.array_equal(private.truth.arrays["labels"], material.hidden["labels"][200:])


@pytest.mark.parametrize("name", ["cert", "dblp"])
def test_an_agent_reads_the_graph_as_it_is(name, make) -> None:
    """Dense features and sparse ones, through what is in the agent image."""
    task = make("nodes") if name == "cert" else load_task("dblp-fraud")
    material, original = made(task), load_graph(name).graph
    seen = read_graph(read_of(material), material.public)
    assert np.array_equal(seen.edges, original.edges)
    assert seen.nodes == original.nodes
    assert seen.features.shape == original.features.shape
    if name == "dblp":
        assert np.array_equal(seen.features.dense(), original.features.dense())
    else:
        assert np.array_equal(seen.features, original.features)


def test_an_agent_gets_each_graph_of_a_set_with_nodes_of_its_own(make) -> None:
    task = make("graphs")
    material, source = made(task), kind_of(task).load(task).items
    union = read_graph(read_of(material), material.public)
    wanted = material.public["test_graphs"][:5]
    for number, graph in zip(wanted, split_graphs(union, material.public["graph_offsets"], wanted), strict=True):
        assert isinstance(graph, Graph)
        first, last = source.offsets[number], source.offsets[number + 1]
        inside = (source.edges[0] >= first) & (source.edges[0] < last)
        assert np.array_equal(graph.edges, source.edges[:, inside] - first)
        assert graph.nodes == last - first
        assert graph.edges.max() < graph.nodes
