"""``openfingym forge`` as a person uses it: papers in, proved tasks out, pages to look at, decisions that are kept."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import OpenFinGymError
from openfingym_forge.bench import BenchCorpus, ForgeBench, run_bench, shipped_corpus
from openfingym_forge.folder import ForgeFolder, ForgeSettings

CORPUS = Path(__file__).parents[1] / "corpus"
KEY = CORPUS.parent / "key"
PAPERS = ("treasury-curve.pdf", "long-rates.txt", "calm-forecasts.txt", "client-flow.pdf", "dry-bulk.tar.gz")
"""One that becomes a task, three that are refused, and one whose data nobody serves here."""


def call(*arguments: object, status: int = 0) -> str:
    """What a command prints, or its error."""
    found = CliRunner().invoke(cli, list(map(str, arguments)))
    error = found.exception if isinstance(found.exception, OpenFinGymError) else None
    assert (found.exit_code if error is None else error.exit_code) == status, found.output or repr(found.exception)
    return found.output if error is None else str(error)


def again(papers: Path, out: Path) -> tuple[object, ...]:
    """The command that goes over papers once more, with one process, since little is left to do."""
    options = ("--model", "stand-in/forge", "--out", out, "--backend", "inline", "--jobs", 1)
    return ("forge", "run", papers, *options)


def task_of(forge: Path) -> str:
    (task,) = (forge / "tasks").iterdir()
    return task.name


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forge")
    (folder / "papers").mkdir()
    for name in PAPERS:
        shutil.copy(CORPUS / name, folder / "papers")
    out = folder / "forge"
    command = ["forge", "run", folder / "papers", "--model", "stand-in/forge", "--out", out, "--backend", "inline"]
    said = call(*command, status=4)
    assert "order-flow-of-corporate-clients-ae128f67: refused at read (no-public-data)" in said
    assert "5 papers: 1 failed, 1 passed, 3 refused" in said
    return out


def test_the_status_says_why_each_paper_ended(forge: Path) -> None:
    rows = json.loads(call("forge", "status", forge, "--json"))
    assert {(row["stage"], row["state"], row["why"]) for row in rows} == {
        ("install", "passed", ""),
        ("extract", "refused", "contradiction"),
        ("rewards", "refused", "metric-games"),
        ("read", "refused", "no-public-data"),
        ("data", "failed", "data-unavailable"),
    }
    assert "contradiction" in call("forge", "status", forge)


def test_what_is_done_is_not_done_again(forge: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in forge.glob("papers/*/prove.json")}
    assert len(before) == 1
    call(*again(forge.parent / "papers", forge), status=4)
    assert {path: path.stat().st_mtime_ns for path in forge.glob("papers/*/prove.json")} == before


def test_a_paper_is_shown_with_its_own_words(forge: Path) -> None:
    said = call("forge", "show", forge, "ten-days")
    assert "contract.horizon" in said
    assert "assumed: " in said
    found = json.loads(call("forge", "show", forge, "ten-days", "--json"))
    assert [one["stage"] for one in found["stages"]][-2:] == ["prove", "install"]
    quotation = found["blueprint"]["fields"]["contract.horizon"]["quotations"][0]
    text = json.loads((forge / "papers" / found["paper"] / "paper.json").read_text())["text"]
    assert text[quotation["start"] :].startswith(quotation["quote"])


@pytest.mark.parametrize("name", ["paper.json", "read.json"])
def test_a_damaged_record_is_named_and_hides_no_other_paper(forge: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "forge"
    shutil.copytree(forge, copy)
    damaged = ForgeFolder.open(copy).find("order-flow").path / name
    damaged.write_text("{[")
    before = {row["paper"]: row for row in json.loads(call("forge", "status", forge, "--json"))}
    papers = tmp_path / "papers"
    papers.mkdir()
    for file in ("client-flow.pdf", "long-rates.txt"):
        shutil.copy(CORPUS / file, papers)
    command = again(papers, copy)
    said = call(*command, status=4)
    assert str(damaged) in said
    assert "2 papers: 1 failed, 1 refused" in said
    rows = {row["paper"]: row for row in json.loads(call(*command, "--json", status=4))}
    assert [row["state"] for row in rows.values() if row["paper"].startswith("order-flow")] == ["failed"]
    after = {row["paper"]: row for row in json.loads(call("forge", "status", copy, "--json"))}
    changed = {key for key, row in after.items() if row != before[key]}
    assert changed == ({damaged.parent.name} if name == "read.json" else set())
    assert damaged.read_text() == "{["


def test_words_are_found_and_what_tasks_share_is_drawn(forge: Path) -> None:
    hits = json.loads(call("forge", "search", forge, "shrinkage", "--json"))
    assert any(hit["key"].startswith("ten-days") for hit in hits)
    assert "ust-par-yields" in call("forge", "graph", forge, "--only", task_of(forge))
    assert "no task 'elsewhere'" in call("forge", "graph", forge, "--only", "elsewhere", status=2)
    assert call("forge", "graph", forge, "--form", "dot").startswith("graph")
    assert json.loads(call("forge", "graph", forge, "--form", "json"))


def test_the_mark_lists_what_is_wrong(forge: Path) -> None:
    (found,) = json.loads(call("forge", "mark", forge, "--key", KEY, "--json"))
    assert (found["figures"]["let through"], found["figures"]["refused falsely"], found["figures"]["failed"]) == (
        0,
        0,
        1,
    )


def test_a_forged_task_is_checked_and_run_as_any_other(forge: Path, tmp_path: Path) -> None:
    (task,) = (forge / "tasks").iterdir()
    said = call("task", "check", "--all", "--folder", forge / "tasks")
    assert task.name in said
    run = call("run", task, "--agent", "ridge", "--backend", "inline", "--out", tmp_path, "--json")
    assert json.loads(run)[0]["state"] == "scored"


def test_a_person_decides_and_every_decision_is_kept(forge: Path, tmp_path: Path) -> None:
    forge = Path(shutil.copytree(forge, tmp_path / "forge"))
    page = tmp_path / "review.html"
    assert str(page) in call("forge", "review", forge, "--html", page)
    assert len(list((tmp_path / "review").glob("*.html"))) == len(PAPERS)
    call("forge", "review", forge, "ten-days", status=2)
    call("forge", "review", forge, "ten-days", "reject", status=2)
    call("forge", "review", forge, "ten-days", "accept", "--who", "a person")
    paper = ForgeFolder.open(forge).find("ten-days")
    assert paper.state() == ("review", "passed")
    call("forge", "review", forge, "ten-days", "reject", "the horizon is another", "--who", "a person")
    assert paper.state() == ("review", "refused")
    assert list((forge / "tasks").iterdir()) == []
    decisions = [json.loads(line) for line in (paper.path / "decisions.jsonl").read_text().splitlines()]
    assert [one["action"] for one in decisions] == ["accept", "reject"]


def test_the_corpus_that_comes_along_is_read_and_assembled_as_its_key_has_it(tmp_path: Path) -> None:
    corpus = shipped_corpus()
    assert corpus == BenchCorpus(CORPUS, KEY, CORPUS.parent / "served")
    found: ForgeBench = run_bench(
        ForgeSettings("stand-in/forge", "stand-in/forge"), corpus, tmp_path / "forge", jobs=1, upto="assemble"
    )
    figures = found.figures()
    assert (figures["papers"], figures["precision of quoted fields"], figures["recall of fields"]) == (12, 1.0, 1.0)
    wrong = ("let through", "refused falsely", "wrong reasons", "failed")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0), found.table()
    assert list((tmp_path / "forge" / "tasks").iterdir()) == []


def test_a_bench_needs_the_key_of_its_corpus(tmp_path: Path) -> None:
    said = call("forge", "bench", "--model", "stand-in/forge", "--corpus", tmp_path, status=2)
    assert "--corpus and --key go together" in said


def test_a_forge_begun_by_another_model_stays_as_it_is(forge: Path) -> None:
    said = call("forge", "run", forge.parent / "papers", "--model", "other/model", "--out", forge, status=2)
    assert "begun with another model" in said


def test_without_the_extra_the_command_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['pdfplumber'] = None; from openfingym.cli import main; main()"
    arguments = ["forge", "run", str(CORPUS), "--model", "stand-in/forge", "--out", "/nonexistent/forge"]
    found = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert found.returncode != 0
    assert "Traceback" not in found.stderr
