"""The page of a task's author: what its plots hold, and that nobody else comes upon it.

The attack: a link of yours at `page.html`, or that file in your run's folder, when an author asks for a page with
hidden values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner

from openfingym import store
from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.kinds import Kind, kind_of
from openfingym.kinds.plots.plot import Distribution, LinePlot, PlotCurve, Shares
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.packages.scaffold import new_task
from openfingym.reports.plots import drawing
from openfingym.reports.task_page import render, write_private
from openfingym.task import Task

KINDS = ("forecast", "curves", "rows", "generation", "nodes", "graphs", "rolling", "trading")


@pytest.fixture(scope="module")
def scaffold(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], BuiltPackage]:
    """Built packages of scaffolds, one a kind."""
    built: dict[str, BuiltPackage] = {}

    def find(kind: str) -> BuiltPackage:
        if kind not in built:
            built[kind] = build(Task.read(new_task(f"my-{kind}", tmp_path_factory.mktemp("tasks"), kind)))
        return built[kind]

    return find


def plots_of(package: BuiltPackage):
    manifest = package.manifest
    counts = manifest.n_public, manifest.n_private
    kind, spec = kind_of(package.task), package.task.spec
    return list(kind.plots(spec, package.shown_array, package.read_truth(), counts, package.contract))


def tree_of(page: str) -> ET.Element:
    assert page.startswith("<!DOCTYPE html>\n")
    return ET.fromstring(re.sub(r"(<style>).*?(</style>)", r"\1\2", page.partition("\n")[2], flags=re.DOTALL))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_every_kind_says_what_it_is_and_has_plots_and_all_arrays(scaffold, kind: str) -> None:
    package = scaffold(kind)
    tree = tree_of(render(package, ("a <hole> of 3 days",)))
    assert [node.text for node in tree.iter("li")][-1] == "a <hole> of 3 days"
    notices = [" ".join(node.itertext()) for node in tree.iter("p") if "kind" in node.get("class", "").split()]
    assert notices[0] == "This page holds hidden values: do not give it to an agent."
    assert ("SIMULATED" in notices[1]) == (package.manifest.data_kind == "simulated")
    assert len(list(tree.iter("figure"))) >= 2
    assert list(tree.iter("script")) == []
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in list(tree.iter("table"))[-1].iter("tr")}
    for name, array in package.read_truth().items():
        assert rows[name][:2] == ["verifier alone", " x ".join(map(str, array.shape))]
    for name in package.contract["arrays"]:
        assert rows[name][0] == "agent"


def test_the_lines_of_a_series_are_the_panel_and_part_at_the_hidden_rows() -> None:
    task = load_task("treasury-forecast")
    package = build(task)
    panel = kind_of(task).load(task)
    known = dict(zip(panel.times.astype("datetime64[ns]").tolist(), panel.values[:, 0], strict=True))
    series = plots_of(package)[0]
    asked = np.unique(package.shown_array("test_times")[:, task.spec.contract.lookback :])
    shown, hidden = series.curves
    assert not np.isfinite(shown.values[np.isin(series.x, asked)]).any()
    for curve in (shown, hidden):
        at = np.isfinite(curve.values)
        assert curve.values[at].tolist() == [known[time] for time in series.x[at].tolist()]
    assert np.isfinite(hidden.values[np.isin(series.x, asked)]).all()
    train, public, private = series.spans
    assert train.last < public.first < public.last < private.first


def test_samples_are_the_folds_in_their_order(scaffold) -> None:
    package = scaffold("rows")
    targets, n_public = package.read_truth()["targets"], package.manifest.n_public
    samples = next(plot for plot in plots_of(package) if isinstance(plot, Distribution)).samples
    assert list(samples) == ["train", "public", "private"]
    np.testing.assert_array_equal(samples["public"], targets[:n_public])
    np.testing.assert_array_equal(samples["private"], targets[n_public:])


def test_every_episode_is_a_span_that_begins_where_the_one_before_it_ends(scaffold) -> None:
    package = scaffold("trading")
    spans, hidden = plots_of(package)[0].spans[1:], package.read_truth()
    steps, lookback = package.task.spec.contract.steps, package.task.spec.contract.lookback
    assert len(spans) == package.manifest.n_test
    for fold, (number, count) in {"public": (0, 2), "private": (package.manifest.n_public, 1)}.items():
        for place in range(min(count, package.manifest.n_public)):
            origins = hidden[f"{fold}_times"][lookback - 1 + place * steps :][:steps].astype(np.int64)
            span = spans[number + place]
            assert (span.name, span.first, span.last) == (f"{fold} episodes", float(origins[0]), float(origins[-1]))


def test_shares_and_degrees_are_those_of_the_graph(scaffold) -> None:
    package = scaffold("nodes")
    shares, by_part, by_class = plots_of(package)
    labels, counts = package.read_truth()["labels"], package.manifest.n_public
    assert shares.shares["public"] == labels[:counts].mean()
    assert shares.shares["private"] == labels[counts:].mean()
    edges = package.array("graph_edges")
    degree = [int((edges == node).sum()) for node in package.array("test_nodes")[:counts]]
    np.testing.assert_allclose(by_part.samples["public"], np.log10(1.0 + np.array(degree)))
    anomalies = package.array("train_labels").sum() + labels.sum()
    assert len(by_class.samples["class 1"]) == anomalies


def test_a_kind_that_says_nothing_shows_the_answers_of_each_part(scaffold) -> None:
    package = scaffold("forecast")
    kind, manifest = kind_of(package.task), package.manifest
    counts, hidden = (manifest.n_public, manifest.n_private), package.read_truth()
    [plot] = Kind.plots(kind, package.task.spec, package.shown_array, hidden, counts, package.contract)
    assert isinstance(plot, Distribution)
    assert plot.samples["train"].size == package.array("train_targets").size
    np.testing.assert_array_equal(plot.samples["private"], hidden["targets"][counts[0] :].reshape(-1))


def points_of(html: str, style: str) -> list[list[tuple[int, int]]]:
    """Points of each stretch of a line."""
    path = re.search(rf'<path class="{style} dense" d="([^"]*)"', html)
    assert path is not None
    numbers = [list(map(int, part.split())) for part in path[1].split("M")[1:]]
    return [list(zip(part[::2], part[1::2], strict=True)) for part in numbers]


def test_a_line_has_a_gap_where_there_are_no_values_and_keeps_extremes() -> None:
    values = np.sin(np.arange(50_000.0) / 900.0)
    values[31_234], values[20_000:30_000] = 9.0, np.nan
    plot = LinePlot("a", np.arange(50_000.0), (PlotCurve("v", values, 3),))
    first, second = points_of(str(drawing(plot)), "s3")
    assert first[0][0] == 0
    assert first[-1][0] == round(10_000 * 19_999 / 49_999)
    assert second[0][0] == round(10_000 * 30_000 / 49_999)
    assert second[-1][0] == 10_000
    assert len(first) + len(second) <= 4 * 601
    top = min(second, key=lambda point: point[1])
    assert top[0] == round(10_000 * 31_234 / 49_999)


@pytest.mark.parametrize(
    "plot",
    [
        LinePlot("<b>", np.array([1.0]), (PlotCurve("<i>", np.array([2.0])),)),
        LinePlot("<b>", np.array([1.0, 2.0]), (PlotCurve("<i>", np.full(2, np.nan)),), note="<u>"),
        Distribution("<b>", {"<i>": np.array([1e9, 1e9])}, "<u>"),
        Distribution("<b>", {"<i>": np.append(np.zeros(10_000), 1e12)}),
        Shares("<b>", {"<i>": 0.0}, "<u>"),
    ],
)
def test_odd_data_are_drawn_and_names_are_escaped(plot) -> None:
    html = str(drawing(plot))
    ET.fromstring(html)
    assert not re.search("<[biu]>", html)


def test_far_values_do_not_squeeze_a_distribution() -> None:
    values = np.append(np.linspace(0.0, 1.0, 10_000), 1e6)
    html = str(drawing(Distribution("a", {"v": values})))
    assert "are in the outermost bars" in html
    assert len(re.findall("M", re.search('<path class="bar s0" d="([^"]*)"', html)[1])) > 30


def test_ranks_have_a_bar_each() -> None:
    html = str(drawing(Distribution("a", {"v": np.tile(np.linspace(-1.0, 1.0, 60).round(4), 9)})))
    bars = re.search('<path class="bar s0" d="([^"]*)"', html)[1]
    assert len(set(re.findall(r"V(\d+)H", bars))) == 1
    assert bars.count("M") == 60


def test_the_command_writes_a_page_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("older, and for everybody")
    file.chmod(0o666)
    before = os.umask(0)
    try:
        done = CliRunner().invoke(
            cli, ["task", "show", "treasury-forecast", "--html", str(file)], catch_exceptions=False
        )
    finally:
        os.umask(before)
    assert done.exit_code == 0
    assert "holds hidden values" in done.output
    assert file.stat().st_mode & 0o777 == 0o600
    assert "treasury-forecast" in file.read_text()


@pytest.mark.parametrize(
    "mark", ["package.json", "task.toml", "result.json", "interface.py", "data/contract.json", ".lock"]
)
def test_no_page_is_written_where_others_would_get_it(tmp_path: Path, mark: str) -> None:
    place = tmp_path / "place"
    (place / mark).parent.mkdir(parents=True)
    (place / mark).write_text("process 1 on a host\n")
    inside = (place / mark).parent / "deeper"
    inside.mkdir()
    (tmp_path / "link").symlink_to(inside)
    for file in (inside.parent / "page.html", inside / "page.html", tmp_path / "link" / "page.html"):
        with pytest.raises(UsageError, match="not written into"):
            write_private(file, "hidden")
        assert not file.exists()


def test_no_page_is_written_into_the_store(scaffold) -> None:
    scaffold("forecast")
    with pytest.raises(UsageError, match="the store"):
        write_private(store.home() / "page.html", "hidden")


def test_a_link_in_the_place_of_the_page_is_replaced_and_not_followed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "result.json").write_text("{}")
    (run / "seen.html").write_text("public")
    (tmp_path / "page.html").symlink_to(run / "seen.html")
    write_private(tmp_path / "page.html", "hidden")
    assert (run / "seen.html").read_text() == "public"
    assert not (tmp_path / "page.html").is_symlink()
