"""The 13 generation and 7 fraud tasks: contracts as published, nothing hidden in what is public, copies refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

import openfingym
from openfingym.catalog import load_task
from openfingym.data.processes import process_sets, stream_paths
from openfingym.errors import SubmissionError, TaskError
from openfingym.kinds import generation, kind_of, nodes
from openfingym.kinds.generation_contract import GenerationContract
from openfingym.kinds.panels import panel_of
from openfingym.metrics import find_metric
from openfingym.metrics.classification import auroc
from openfingym.metrics.copying import detect_copies
from openfingym.packages.build import build
from openfingym.task.model import parse_task_file
from openfingym_verifier.scoring.truth import load_task as load_hidden
from tests.sweeps import fixed_part, sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.catalog import TaskInfo
    from openfingym.task import Task
    from openfingym_verifier.scoring.truth import Grader

GENERATION = {
    "crypto-generation": ("2_crypto_generation", 0, 60, 20, 1, "F9"),
    "crypto-return-generation": ("2_crypto_logreturn_generation", 0, 24, 10, 1, "F10"),
    "exchange-generation": ("2_exchange_generation", 0, 7, 8, 1, "F10"),
    "fbm-generation": ("2_fbm_conditional_generation", 6, 5, 3, 1, "F9"),
    "lob-generation": ("2_lob_generation", 0, 60, 14, 1, "F9"),
    "ou-generation": ("2_ou_generation", 0, 64, 1, 1, "F9"),
    "rough-volatility-generation": ("2_roughvol_generation", 0, 200, 2, 1, "F9"),
    "stock-generation": ("2_stock_generation", 0, 60, 10, 1, "F9"),
    "stock-return-generation": ("2_stock_logreturn_generation", 0, 5, 8, 1, "F10"),
    "stock-ohlcv-generation": ("2_stock_ohlcv_generation", 0, 20, 5, 1, "F9"),
    "tail-gan-generation": ("2_tailgan_generation", 0, 100, 5, 1, "F9"),
    "timegan-stock-generation": ("2_timegan_stock_generation", 0, 24, 6, 1, "F9"),
    "us5-stock-generation": ("2_us5stock_conditional_generation", 5, 5, 5, 128, "F9"),
}
"""Task: row of the paper's catalogue, rows of context, rows to generate, channels, futures a context, family (Table
8)."""
SIZES = {
    "fbm-generation": (10_000, 10_000),
    "crypto-generation": (6089, 1317 + 1319),
    "crypto-return-generation": (7004, 875 + 876),
    "lob-generation": (1047, 237 + 238),
    "ou-generation": (8000, 1000 + 1000),
    "rough-volatility-generation": (16_000, 2000 + 2000),
    "tail-gan-generation": (50_000, 5000 + 5000),
}
"""Training and hidden paths of the sets that are synthetic or simulated, as published."""
FRAUD = {
    "amazon-fraud": ("3_amazon_fraud", 10_224, 25, 0.068),
    "blogcatalog-fraud": ("3_blogcatalog_fraud", 5196, 8189, 0.058),
    "yelpchi-fraud": ("3_yelpchi_fraud", 23_831, 32, 0.051),
    "dblp-fraud": ("3_dblp_fraud", 4057, 334, 0.07),
    "imdb-fraud": ("3_imdb5k_fraud", 4780, 1232, 0.07),
    "cert-fraud": ("3_cert_fraud", 1000, 6, 0.07),
}
"""Task: row of the catalogue, nodes, features, share of anomalies (Table 9)."""
PANELS = (
    "exchange-generation",
    "stock-generation",
    "stock-return-generation",
    "stock-ohlcv-generation",
    "timegan-stock-generation",
)
CONDITIONAL = ("fbm-generation", "us5-stock-generation")


@cache
def _catalogue() -> dict[str, TaskInfo]:
    return {row.name: row for row in openfingym.tasks() if row.family in {"generation", "fraud"}}


def test_every_row_of_the_catalogue_has_one_task() -> None:
    ids = {name: load_task(name).spec.provenance.catalogue_id for name in _catalogue()}
    wanted = {name: row[0] for name, row in (GENERATION | FRAUD).items()}
    assert ids == wanted | {"ba2motifs-fraud": "3_ba2motifs_fraud"}


@pytest.mark.parametrize("name", GENERATION)
def test_generation_contracts_are_the_catalogues(name: str) -> None:
    _, lookback, horizon, channels, futures, family = GENERATION[name]
    task = load_task(name)
    contract = task.spec.contract
    assert isinstance(contract, GenerationContract)
    assert (contract.lookback, contract.horizon, _catalogue()[name].channels, contract.futures) == (
        lookback,
        horizon,
        channels,
        futures,
    )
    assert (task.spec.scoring.family, task.spec.scoring.baseline) == (family, "gaussian")
    assert (task.spec.split is None) == (name in SIZES)
    known = {known.name: known for known in process_sets()}.get(task.spec.dataset.name or "")
    if name in SIZES:
        assert known is not None
        assert (known.counts.train, known.counts.public + known.counts.private) == SIZES[name]


@pytest.mark.parametrize("name", GENERATION)
def test_ranks_rest_on_metrics_that_cannot_be_won_by_less_noise(name: str) -> None:
    for entry in load_task(name).spec.scoring.metrics:
        if find_metric(entry.name).diagnostic:
            assert not entry.relative_weight


def _windows(task: Task) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Training and hidden windows; a thousand of each of a process set."""
    known = {known.name: known for known in process_sets()}.get(task.spec.dataset.name or "")
    if known is not None:
        parts = [next(iter(stream_paths(known, split, count=300))) for split in ("train", "public", "private")]
        return parts[0], np.concatenate(parts[1:])
    paths = generation.KIND.load(task)
    return np.asarray(paths.train), np.concatenate([paths.public, paths.private])


@pytest.mark.parametrize("name", GENERATION)
def test_no_training_window_is_scored_against(name: str) -> None:
    """The known defect of the published TimeGAN set, whose training and test windows are the same."""
    train, hidden = _windows(load_task(name))
    seen = {window.astype(np.float32).tobytes() for window in train}
    assert not [window for window in hidden if window.astype(np.float32).tobytes() in seen]
    if name in SIZES:
        return
    # No single bar of the real ones either: the blocks do not overlap. A day on which nothing moved is like any other.
    rows = {row.tobytes() for window in train for row in window if row.any() and not (row == 1.0).all()}
    assert not [row for window in hidden for row in window if row.tobytes() in rows]


@pytest.mark.parametrize("name", [*PANELS, "us5-stock-generation"])
def test_training_windows_know_nothing_of_later_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaling included: everything after the training block is replaced, and no training byte changes."""
    task = load_task(name)
    train = generation.KIND.load(task)
    panel = panel_of(task)
    split = task.spec.rows
    dated = split.public_from is not None
    first = (
        np.searchsorted(panel.times, np.datetime64(split.public_from)) if dated else split.shares[0] * len(panel.times)
    )
    later = int(first) + 2
    values = panel.values.copy()
    values[later:] *= np.random.default_rng(0).uniform(0.5, 40.0, values[later:].shape)
    monkeypatch.setattr("openfingym.kinds.paths.panel_of", lambda _: replace(panel, values=values))
    altered = generation.KIND.load(task)
    assert np.array_equal(np.asarray(train.train), np.asarray(altered.train))
    assert not np.array_equal(train.private, altered.private)


def test_windows_that_start_at_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaling "start" against the prices themselves."""
    task = load_task("stock-generation")
    prices = panel_of(task).values
    paths = generation.KIND.load(task)
    assert np.asarray(paths.train)[7] == pytest.approx(prices[8:68] / prices[7])
    assert np.abs(np.log(paths.private[:, 0])).max() < 0.5
    text = task.config_path.read_text(encoding="utf-8").replace(
        'kind = "generation"', 'kind = "forecast"\nlookback = 5'
    )
    with pytest.raises(TaskError, match="for generated windows"):
        parse_task_file(text, task.config_path)


def _grader(name: str) -> tuple[Grader, NDArray[np.float64], tuple[int, ...]]:
    package = build(load_task(name))
    return load_hidden(package).grader, package.array("train_targets"), package.manifest.submission_shape


def _disguises(windows: NDArray[np.float64], rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    deviation = windows.std(axis=(0, 1))
    return {
        "as they are": windows,
        "noisy": windows + 0.01 * deviation * rng.standard_normal(windows.shape),
        "later": np.concatenate([windows[:, 1:], windows[:, -1:]], axis=1),
        "backward": windows[:, ::-1],
    }


def _bootstrap(windows: NDArray[np.float64], shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Each row of a new window is that row of a window drawn anew: right marginals by row, correlation of channels
    kept."""
    count, steps = int(np.prod(shape[:-2])), shape[-2]
    rows = windows[rng.integers(0, len(windows), (count, steps)), np.arange(steps)]
    return rows.reshape(shape)


def _refused(grader: Grader, values: NDArray[np.float64]) -> str | None:
    try:
        grader.check(values)
    except SubmissionError as error:
        return error.problem
    return None


@pytest.mark.parametrize("name", fixed_part([*PANELS, *CONDITIONAL, "lob-generation", "ou-generation"], 2))
def test_a_copier_is_refused_and_an_honest_program_is_not(name: str) -> None:
    """A whole submission; tests/adversarial/test_copies.py has the disguises, on every task where all are asked for."""
    grader, train, shape = _grader(name)
    rng = np.random.default_rng(1)
    count = int(np.prod(shape[:-2]))
    chosen = np.asarray(train[rng.choice(len(train), count, replace=count > len(train))])
    disguise = "later" if name == "ou-generation" else "noisy"
    fake = _disguises(chosen, rng)[disguise]
    assert _refused(grader, np.ascontiguousarray(fake).reshape(shape)) == "memorised", (
        f"training windows {disguise} were accepted"
    )
    assert _refused(grader, _bootstrap(np.asarray(train), shape, rng)) is None


@pytest.mark.parametrize("name", fixed_part([*PANELS, *CONDITIONAL, "lob-generation"], 2, first=1))
def test_disguises_are_seen_in_a_few_windows(name: str) -> None:
    """The detector itself, on some windows of each task."""
    train, hidden = _windows(load_task(name))
    rng = np.random.default_rng(1)
    few = np.asarray(train[:300])
    for disguise, fake in _disguises(few[rng.choice(len(few), 100, replace=False)], rng).items():
        assert detect_copies(few, hidden[:300], fake).flagged, disguise


@pytest.mark.parametrize("name", sweep(["rough-volatility", "tail-gan"], 2))
def test_copies_in_the_large_sets(name: str) -> None:
    """The detector itself, on the first blocks of each split."""
    known = next(known for known in process_sets() if known.name == name)
    train, held_out, fresh = (
        next(iter(stream_paths(known, split, count=200))) for split in ("train", "public", "private")
    )
    rng = np.random.default_rng(2)
    disguises = _disguises(train[:100], rng)
    for disguise in ("noisy", "later"):
        assert detect_copies(train, held_out, disguises[disguise]).flagged, disguise
    assert not detect_copies(train, held_out, fresh).flagged


def test_conditional_tasks_compare_futures_and_whole_paths() -> None:
    for name in CONDITIONAL:
        on = {entry.name: entry.on for entry in load_task(name).spec.scoring.metrics}
        assert on["marginal"] == on["marginal_total_variation"] == "future"
        assert on["onnd"] == on["sig_w1"] == "path"
    assert on["american_put_error"] == "future"


@pytest.mark.parametrize("name", FRAUD)
def test_graphs_are_of_the_published_size_and_hide_their_labels(name: str) -> None:
    _, count, features, rate = FRAUD[name]
    task = load_task(name)
    divided = nodes.KIND.load(task)
    material = nodes.KIND.shape(task, divided)
    labels = divided.items.labels
    assert (divided.items.nodes, divided.items.features.shape[1]) == (count, features)
    assert divided.items.anomaly_rate == pytest.approx(rate, abs=0.0005)
    train, hidden = (np.asarray(material.public[key]) for key in ("train_nodes", "test_nodes"))
    assert np.array_equal(np.sort(np.concatenate([train, hidden])), np.arange(count))
    assert np.array_equal(material.public["train_labels"], labels[train])
    wanted = material.hidden["labels"].astype(np.float64)
    assert np.array_equal(wanted, labels[hidden])
    # Nothing public is ordered by label, or has one number an item that gives it away.
    tolerance = 4.0 / np.sqrt(wanted.sum())
    assert auroc(wanted, np.arange(len(hidden), dtype=np.float64)) == pytest.approx(0.5, abs=tolerance)
    assert auroc(labels.astype(np.float64), np.arange(count, dtype=np.float64)) == pytest.approx(0.5, abs=tolerance)
    altered = nodes.KIND.shape(task, nodes.KIND.scramble(task, divided, np.random.default_rng(3)))
    assert not np.array_equal(altered.hidden["labels"], material.hidden["labels"])
    for key, array in material.public.items():
        assert np.array_equal(np.asarray(array), np.asarray(altered.public[key])), key
    pulled = task.spec.dataset.pulled
    assert pulled is not None
    assert pulled.source.startswith(name.removesuffix("-fraud"))


def test_motifs_cannot_be_told_by_counting_edges() -> None:
    task = load_task("ba2motifs-fraud")
    kind = kind_of(task)
    material = kind.shape(task, kind.load(task))
    assert (material.facts["n_graphs"], material.facts["n_features"]) == (1000, 10)
    labels = material.hidden["labels"]
    assert labels.mean() == pytest.approx(0.5, abs=0.01)
    offsets, edges = np.asarray(material.public["graph_offsets"]), np.asarray(material.public["graph_edges"])
    assert (np.diff(offsets) == 25).all()
    counts = np.bincount(np.searchsorted(offsets, edges[0], side="right") - 1, minlength=1000)
    hidden = np.asarray(material.public["test_graphs"])
    assert auroc(labels.astype(np.float64), counts[hidden].astype(np.float64)) == pytest.approx(0.5, abs=0.05)
    assert not np.isin(material.public["train_graphs"], hidden).any()


@pytest.mark.parametrize("name", ["cert-fraud", "ba2motifs-fraud"])
def test_calling_everything_positive_gains_nothing(name: str) -> None:
    package = build(load_task(name))
    grader = load_hidden(package).grader
    scoring = package.task.spec.scoring
    everything = np.ones(package.manifest.submission_shape)
    truth = package.read_truth()["labels"].astype(np.float64)
    scores = {
        label: grader.private_score(answer)
        for label, answer in (("all", everything), ("labels", truth), ("random", grader.baseline))
    }
    assert scores["labels"].total == pytest.approx(0.0)
    assert scores["all"].total > 0.4
    assert scores["all"].metrics["auroc"] == pytest.approx(0.5)
    if name == "ba2motifs-fraud":
        assert scores["all"].metrics["recall"] == 1.0
        assert [entry.weight for entry in scoring.metrics if entry.name == "recall"] == [0.0]
