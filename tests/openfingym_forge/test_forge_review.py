"""The pages that a person reads, and what only a person's word does."""

from __future__ import annotations

import getpass
import re
from datetime import date
from pathlib import Path

import pytest

from openfingym.errors import StoreError, UsageError
from openfingym_forge.asking.journal import PaperJournal
from openfingym_forge.blueprint import Blueprint, Contradiction, MetricBlueprint, Quotation, Stated
from openfingym_forge.blueprint_file import read_blueprint, write_blueprint
from openfingym_forge.cli.review import review
from openfingym_forge.data import DataStage
from openfingym_forge.folder import ForgeFolder, ForgeSettings, PaperFolder
from openfingym_forge.paper import Paper, PaperSection
from openfingym_forge.review import accept, candidate_page, change, decisions, is_curated, reject, write_pages
from openfingym_forge.stage import CandidateTask, RejectionReason, Role, StageResult

TEXT = (
    "2 Data. We take daily constant maturity Treasury yields of 2 and 10 years from February 2006 to August 2019. "
    "The test part begins in 2016. <script>alert('read me')</script> We predict five days ahead. " * 3
)
PAPER = Paper(
    "yields-12345678", "Yields <b>ahead</b>", "We predict yields.", TEXT,
    (PaperSection("2 Data", 1, 0, len(TEXT)),), (),
    "en", "text", "yields.txt", "0" * 64, "0" * 64,
)  # fmt: skip


class NobodyAsked:
    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        raise AssertionError(f"{role} was asked for {purpose}")


def quotation(words: str) -> Quotation:
    return Quotation(quote=words, section="2 Data", start=TEXT.index(words))


def blueprint() -> Blueprint:
    said = {
        "family": ("forecasting", "We predict five days ahead"),
        "asset_class": ("rates", "Treasury yields"),
        "frequency": ("daily", "daily"),
        "data.source": ("constant maturity Treasury yields", "constant maturity Treasury yields"),
        "data.series": (["2y", "10y"], "2 and 10 years"),
        "contract.horizon": (5, "five days ahead"),
    }
    fields = {name: Stated(value=value, quotations=[quotation(words)]) for name, (value, words) in said.items()}
    fields["data.start"] = Stated(value=date(2006, 2, 9), assumed="the paper names the month alone")
    fields |= {f"split.{part}": Stated(value=share, assumed="as in the library") for part, share in
               {"train": 0.7, "public": 0.15, "private": 0.15}.items()}  # fmt: skip
    stated = Stated(value="lower", assumed="an error")
    metric = MetricBlueprint(name="RMSE", formula=stated, direction=stated, unit=stated, weight=stated, bank="rmse")
    readings = [fields["contract.horizon"], Stated(value=10, quotations=[quotation("2 and 10 years")])]
    return Blueprint(
        paper=PAPER.key, title=PAPER.title, name="yields-ahead", fields=fields, metrics=[metric],
        contradictions=[Contradiction(field="contract.horizon", readings=readings, why="text and table differ")],
    )  # fmt: skip


@pytest.fixture
def forge(tmp_path: Path) -> ForgeFolder:
    return ForgeFolder.begin(tmp_path / "forge", ForgeSettings("stand-in/forge", "stand-in/forge"))


@pytest.fixture
def paper(forge: ForgeFolder) -> PaperFolder:
    """A candidate whose task is installed."""
    found = forge.paper(PAPER.key)
    found.keep_paper(PAPER, "yields.txt", TEXT.encode())
    write_blueprint(found.blueprint_path, blueprint())
    task = forge.tasks / "yields-ahead"
    task.mkdir()
    (task / "task.toml").write_text("name = 'yields-ahead'\n")
    for stage in ("harvest", "screen", "read", "extract", "triage"):
        found.keep_result(StageResult(stage, "passed"), "", 0.1)
    data = DataStage().run(CandidateTask(found.path, PAPER, NobodyAsked(), blueprint()))
    found.keep_result(data, "", 0.5)
    trials = {
        "relative_totals": {"naive": 1.0, "mean": 1.3, "ridge": 0.97, "oracle": 0.0}, "noise": 2.1,
        "better_than_noise": ["naive", "ridge"], "intervals": {"ridge": [0.94, 0.99]},
    }  # fmt: skip
    found.keep_result(StageResult("rewards", "passed"), "", 0.1)
    found.keep_result(StageResult("assemble", "passed"), "", 0.1)
    checks = {"leaks": "no hidden value in public files", "determinism": "built twice, one digest"}
    note = RejectionReason("contradiction", "the first reading is taken", (quotation("five days ahead"),))
    proved = StageResult("prove", "passed", notes=(note,), facts={"checks": checks, "trials": trials})
    found.keep_result(proved, "", 3.0)
    found.keep_result(StageResult("install", "passed", facts={"task": "yields-ahead"}), "", 0.1)
    for purpose, tokens in (("extract", 1200), ("extract", 300), ("script-tests", 50)):
        PaperJournal(found.path).add("asked", role="generator", purpose=purpose, tokens=tokens, cost_usd=0.01)
    return found


def test_a_page_shows_what_a_decision_needs_and_loads_nothing(forge: ForgeFolder, paper: PaperFolder) -> None:
    page = candidate_page(forge, paper)
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    for part in ("constant maturity Treasury yields", "assumed: the paper names the month alone", "ust-par-yields",
                 "text and table differ", "no hidden value in public files", "0.94 to 0.99",
                 "the first reading is taken", "not curated", "rmse of the bank",
                 "generator: extract 2 1500 0.0200"):  # fmt: skip
        assert part in words, part
    # In its context, and nothing of the paper's works as markup.
    assert "years from" in re.sub(r"\s+", " ", page)
    assert "<mark>2 and 10 years</mark>" in page
    assert "<script>" not in page
    assert "<b>ahead</b>" not in page
    assert not re.search(r"(src|href)=\"(?!#|\.\./)", page)
    assert page.count("<svg") >= 2 + 5
    assert all(part in page for part in ("train", "public", "private"))


def test_an_index_leads_to_the_pages(forge: ForgeFolder, paper: PaperFolder, tmp_path: Path) -> None:
    lost = forge.paper("lost-00000000")
    lost.keep_result(
        StageResult("harvest", "refused", (RejectionReason("no-text", "a scan <i>without</i> text"),)), "", 0.1
    )
    files = write_pages(forge, tmp_path / "review.html")
    index = files[0].read_text()
    for address in re.findall(r'href="([^"]+)"', index):
        assert (tmp_path / address).is_file()
    assert len(files) == 3
    assert "no-text" in index
    assert "proved" in index


def test_a_damaged_record_is_named_in_the_index_and_hides_no_other(
    forge: ForgeFolder, paper: PaperFolder, tmp_path: Path
) -> None:
    other = forge.paper("other-00000000")
    other.keep_result(StageResult("harvest", "passed"), "", 0.1)
    assert len(write_pages(forge, tmp_path / "review.html")) == 3
    reject(forge, paper, "of no use")
    record = paper.path / "decisions.jsonl"
    record.write_text(record.read_text() + '{"action": "acc')
    files = write_pages(forge, tmp_path / "review.html")
    assert [file.name for file in files] == ["review.html", "other-00000000.html"]
    assert not (tmp_path / "review" / f"{PAPER.key}.html").exists()
    assert "decisions.jsonl: the record of decisions is damaged" in files[0].read_text()


def test_only_accepting_makes_curated_and_only_what_was_accepted(forge: ForgeFolder, paper: PaperFolder) -> None:
    assert not is_curated(forge, paper)
    accept(forge, paper, "Ada")
    assert is_curated(forge, paper)
    assert "curated" in candidate_page(forge, paper)
    config = forge.tasks / "yields-ahead" / "task.toml"
    before = config.read_bytes()
    config.write_bytes(before + b"# one more line\n")
    assert not is_curated(forge, paper)
    config.write_bytes(before)
    assert is_curated(forge, paper)
    reject(forge, paper, "the horizon is in doubt", "Grace")
    assert not is_curated(forge, paper)
    assert [(one.action, one.who) for one in decisions(paper)] == [("accept", "Ada"), ("reject", "Grace")]
    assert list(forge.tasks.iterdir()) == []
    assert paper.state() == ("review", "refused")


def test_a_change_is_the_person_s_and_has_later_stages_done_again(forge: ForgeFolder, paper: PaperFolder) -> None:
    accept(forge, paper, "Ada")
    made = change(forge, paper, "contract.horizon", "10", "Ada Lovelace")
    assert (made.before, made.value) == (5, 10)
    stated = read_blueprint(paper.blueprint_path).fields["contract.horizon"]
    assert (stated.value, stated.assumed) == (10, "changed by Ada Lovelace")
    assert [kept.result.stage for kept in paper.results()] == ["harvest", "screen", "read", "extract"]
    assert not is_curated(forge, paper)
    assert "changed by Ada Lovelace" in candidate_page(forge, paper)
    change(forge, paper, "data.series", '["2y", "5y"]', "Ada")
    assert read_blueprint(paper.blueprint_path).value("data.series") == ["2y", "5y"]


def test_who_decides_is_asked_for_by_an_option_that_there_is(
    forge: ForgeFolder, paper: PaperFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:
        raise OSError("no user has this number")

    monkeypatch.setattr(getpass, "getuser", nobody)
    with pytest.raises(UsageError) as told:
        accept(forge, paper)
    [option] = re.findall(r"--\w+", str(told.value))
    assert option in {name for one in review.params for name in one.opts}
    assert accept(forge, paper, "Ada").who == "Ada"


def test_what_cannot_be_decided_is_said(forge: ForgeFolder, paper: PaperFolder) -> None:
    with pytest.raises(UsageError, match=r"contract\.horizon"):
        change(forge, paper, "contract.horizon", "soon")
    with pytest.raises(UsageError, match="say why"):
        reject(forge, paper, "  ")
    lost = forge.paper("lost-00000000")
    with pytest.raises(UsageError, match="no task is installed"):
        accept(forge, lost)
    accept(forge, paper)
    record = paper.path / "decisions.jsonl"
    record.write_text(record.read_text() + "{half a line")
    with pytest.raises(StoreError, match="damaged"):
        is_curated(forge, paper)
