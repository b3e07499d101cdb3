"""The knowledge base is made from the folders of a forge, searched, drawn, exported and made again of its export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openfingym.errors import StoreError, UsageError
from openfingym_forge.blueprint import Blueprint, MetricBlueprint, Quotation, Stated
from openfingym_forge.blueprint_file import write_blueprint
from openfingym_forge.data.provenance import ForgeProvenance
from openfingym_forge.folder import ForgeFolder, ForgeSettings
from openfingym_forge.knowledge.database import KnowledgeBase, rebuild
from openfingym_forge.knowledge.graph import shared_graph
from openfingym_forge.knowledge.plain_files import export_files, import_files
from openfingym_forge.papers.harvest import harvest
from openfingym_forge.quoting import QuotedText
from openfingym_forge.stage import RejectionReason, StageResult

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "openfingym_forge" / "corpus"


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A forge with one paper that has a blueprint and data, one that was refused, and a task."""
    root = tmp_path_factory.mktemp("forge")
    made = ForgeFolder.begin(root, ForgeSettings("stand-in/forge", "stand-in/forge"))
    keys = []
    for name in ("long-rates.txt", "calm-forecasts.txt"):
        (found,) = harvest(CORPUS / name)
        assert found.paper is not None
        paper = made.paper(found.key)
        paper.keep_paper(found.paper, found.name, found.original)
        paper.keep_result(StageResult("harvest", "passed"), "", 0.1)
        keys.append(found.key)
    rates = made.paper(keys[0])
    quotation = QuotedText(rates.paper()).find("The curves of the last 40 business days are the input.")
    assert quotation is not None
    word = Stated(value="lower", assumed="it is an error")
    metric = MetricBlueprint(name="RMSE", formula=word, direction=word, unit=word, weight=word, bank="rmse")
    fields = {
        "contract.lookback": Stated(value=40, quotations=[quotation]),
        "split.train": Stated(value=0.6, assumed="usual"),
    }
    blueprint = Blueprint(paper=keys[0], title="Long rates", name="long-rates", fields=fields, metrics=[metric])
    write_blueprint(rates.blueprint_path, blueprint)
    (rates.path / "data").mkdir()
    ForgeProvenance("bundled:ust-par-yields-1993", "US Treasury", "public domain", True).write(rates.path / "data")
    quote = Quotation(quote="Higher is better; one is the largest possible value.", section="4", start=900)
    reason = RejectionReason("metric-games", "a constant forecast wins", (quote,))
    made.paper(keys[1]).keep_result(StageResult("screen", "refused", (reason,)), "", 0.1)
    (made.tasks / "long-rates").mkdir()
    text = (ROOT / "tasks" / "treasury-forecast" / "task.toml").read_text(encoding="utf-8")
    (made.tasks / "long-rates" / "task.toml").write_text(text.replace("openfingym/treasury-forecast", "x/long-rates"))
    rebuild(root).close()
    return root, keys[0], keys[1]


def test_search_finds_words_with_snippets(forge: tuple[Path, str, str]) -> None:
    root, rates, calm = forge
    with KnowledgeBase(root / "knowledge.db") as base:
        hits = base.search("principal components")
        assert [(hit.kind, hit.key) for hit in hits] == [("paper", rates)]
        assert "[principal] [components]" in hits[0].snippet
        assert [hit.key for hit in base.search("constant forecast wins", kind="decision")] == [calm]
        assert {hit.kind for hit in base.search("lookback 40")} == {"setting"}
        # Nothing in the words is an operator, or ends a statement.
        for words in ('"', "* OR", "title:", "NEAR(", "'; drop table papers; --", ""):
            base.search(words)
        assert len(base.rows("papers")) == 2


def test_show_gives_all_of_a_thing(forge: tuple[Path, str, str]) -> None:
    root, rates, calm = forge
    with KnowledgeBase(root / "knowledge.db") as base:
        shown = base.show(rates)
        (lookback,) = shown["settings"]
        assert (lookback["value"], lookback["section"]) == ("40", "3 Protocol")
        assert shown["protocols"][0]["assumed"] == "usual"
        assert shown["paper_datasets"][0]["dataset"] == "ust-par-yields-1993"
        assert base.show(calm)["papers"][0]["state"] == "refused"
        assert rates in {row["paper"] for row in base.show("rmse")["paper_metrics"]}
        with pytest.raises(UsageError, match="nothing is called"):
            base.show("what-is-not-there")
        reuse = base.reuse()
        assert (reuse.data_reused, reuse.data_made, reuse.metrics_reused, reuse.metrics_made) == (1, 0, 1, 0)
        assert base.uses()["metrics"]["rmse"] > 5


def test_graph_joins_forged_tasks_to_shipped_ones(forge: tuple[Path, str, str]) -> None:
    root = forge[0]
    with KnowledgeBase(root / "knowledge.db") as base:
        graph = shared_graph(base)
        shipped = {path.parent.name for path in (ROOT / "tasks").glob("*/task.toml")}
        assert shipped | {"long-rates"} == set(graph.tasks)
        assert {"long-rates", "treasury-forecast"} <= set(graph.datasets["ust-par-yields"])
        assert "treasury-forecast" in next(one for one in graph.text().splitlines() if "long-rates (forged)" in one)
        assert '"task:long-rates" -- "data:ust-par-yields";' in graph.dot()
        read = json.loads(graph.json())
        assert {"task": "task:long-rates", "with": "metric:mse"} in read["edges"]
        alone = shared_graph(base, only="long-rates")
        assert "long-rates" in alone.tasks
        assert "amazon-fraud" not in alone.tasks


def test_what_is_exported_and_imported_is_exported_again(forge: tuple[Path, str, str], tmp_path: Path) -> None:
    root = forge[0]
    with rebuild(root) as base:
        first = export_files(base, tmp_path / "one")
    assert "Three factors, called level" not in (tmp_path / "one" / "papers.jsonl").read_text(encoding="utf-8")
    with import_files(tmp_path / "one", tmp_path / "again.db") as again:
        export_files(again, tmp_path / "two")
        assert again.search("principal components")
    for path in first:
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    (tmp_path / "one" / "tasks.jsonl").write_text('{"name": ["a", "list"]}\n')
    with pytest.raises(StoreError, match="no table of a knowledge base"):
        import_files(tmp_path / "one", tmp_path / "third.db")
    assert not (tmp_path / "third.db").exists()


def test_a_damaged_paper_is_told_of_and_the_rest_is_there(forge: tuple[Path, str, str]) -> None:
    root, rates, calm = forge
    path = root / "papers" / calm / "paper.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    try:
        with rebuild(root, shipped=False) as base:
            assert "machinery" in {row["code"] for row in base.show(calm)["decisions"]}
            assert base.show(rates)["papers"][0]["title"].startswith("Forecasting Long")
    finally:
        path.write_bytes(whole)
        rebuild(root).close()
    with pytest.raises(UsageError, match="no forge there"):
        rebuild(root / "nowhere")
