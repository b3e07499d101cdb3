"""What an agent's program is given of tasks with graphs, and of the other arrays of a task."""

from __future__ import annotations

import json

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.scaffold import new_task
from openfingym_agent import Graph, Interface, SparseRows, SubmissionRefused


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory, store_home):
    """An interface of one task of each kind, over what a build really writes."""
    folder = tmp_path_factory.mktemp("agent-tasks")
    kinds = ("forecast", "curves", "rows", "generation", "nodes", "graphs")
    return {
        kind: Interface(
            build(load_task(new_task(f"agent-{kind}", folder, kind))).public / "environment", gate="/nowhere"
        )
        for kind in kinds
    }


def test_nodes(interfaces):
    interface = interfaces["nodes"]
    graph = interface.load_graph()
    nodes, labels = interface.load_train()
    asked = interface.load_test_inputs()
    assert isinstance(graph, Graph)
    assert graph.nodes == 1_000 == len(nodes) + len(asked)
    assert graph.edges.shape[0] == 2
    assert (graph.edges[0] < graph.edges[1]).all()
    assert set(labels.tolist()) == {0, 1}
    assert asked.shape == tuple(interface.contract["submission_shape"])


def test_graphs(interfaces):
    interface = interfaces["graphs"]
    graphs, labels = interface.load_train()
    asked = interface.load_test_inputs()
    assert len(graphs) == len(labels) == 400
    assert len(asked) == 600
    assert {graph.nodes for graph in graphs} == {25}
    whole = interface.load_graph()
    assert whole.nodes == 25_000
    assert whole.edges.shape[1] == sum(graph.edges.shape[1] for graph in [*graphs, *asked])


def test_sparse_rows_are_what_scipy_takes_them_for():
    from scipy.sparse import csr_matrix

    rows = SparseRows(np.array([0, 2, 2, 3]), np.array([1, 3, 0]), np.array([1.0, 2.0, 5.0]), (3, 4))
    assert np.array_equal(rows.dense(), csr_matrix((rows.values, rows.indices, rows.indptr), rows.shape).toarray())


@pytest.mark.parametrize(
    ("kind", "train", "asked"),
    [
        ("forecast", ((1025, 20, 2), (1025, 5, 2)), [20, 2]),
        ("generation", ((895, 0, 2), (895, 5, 2)), (59, 0, 2)),
        ("rows", ((9480, 42), (9480,)), [42]),
    ],
)
def test_arrays(kind, train, asked, interfaces):
    interface = interfaces[kind]
    assert tuple(array.shape for array in interface.load_train()) == train
    with pytest.raises(ValueError, match=f"this is a {kind} task, which asks nothing in words; use the arrays"):
        interface.questions()
    if interface.walks:
        assert interface.contract["window"]["inputs"]["shape"] == asked
        for call in (interface.load_test_inputs, interface.make, lambda: interface.submit(np.zeros(3))):
            with pytest.raises(ValueError, match=r"write `for window in interface.iter_test\(\): window.predict"):
                call()
    else:
        assert interface.load_test_inputs().shape == asked
        assert interface.load_test_inputs().dtype == np.float64
        with pytest.raises(ValueError, match=r"no windows in the order of time: use interface\.load_test_inputs"):
            interface.iter_test()


def test_every_array_of_the_contract_can_be_loaded_and_has_its_shape(interfaces):
    for interface in interfaces.values():
        for name, stated in interface.contract["arrays"].items():
            assert list(interface.load(name).shape) == stated["shape"]
            assert len(stated["axes"]) == len(stated["shape"])


def test_the_contract_says_how_to_load_and_how_it_is_scored(interfaces):
    for kind, interface in interfaces.items():
        contract = interface.contract
        assert contract["kind"] == kind
        assert len(contract["submission_axes"]) == len(contract["submission_shape"])
        assert {"name", "weight", "direction"} == set(contract["metrics"][0])
        assert json.loads(json.dumps(contract)) == contract


def test_what_a_task_does_not_have_is_said(interfaces):
    with pytest.raises(ValueError, match="this is a forecast task, which has no graph"):
        interfaces["forecast"].load_graph()
    with pytest.raises(ValueError, match=r"this task has no array 'targets'; it has .*train_inputs"):
        interfaces["forecast"].load("targets")
    with pytest.raises(ValueError, match="no array 'train_times'"):
        interfaces["nodes"].load("train_times")


def test_a_wrong_shape_names_the_axes(interfaces):
    with pytest.raises(SubmissionRefused, match=r"expected shape \(600,\) \(node\), found \(600, 1\)"):
        interfaces["nodes"].submit(np.zeros((600, 1)))
