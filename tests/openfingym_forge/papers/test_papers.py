"""The corpus is read in its four forms, unlucky files end with a reason, and verdicts have real quotations."""

from __future__ import annotations

import gzip
import io
import json
import resource
import subprocess
import sys
import tarfile
import time
import tomllib
from pathlib import Path

import pytest

from openfingym.models.testing.conversation import CompletionRequest
from openfingym_forge.paper import Paper
from openfingym_forge.papers.harvest import Harvested, harvest, read_file
from openfingym_forge.papers.injections import instructions
from openfingym_forge.papers.stages import ReadStage, ScreenStage
from openfingym_forge.quoting import QuotedText
from openfingym_forge.stage import CandidateTask, Role
from openfingym_forge.stand_in.forge import Forge

FORGE = Path(__file__).parents[1]
KEY = tomllib.loads((FORGE / "key" / "KEY.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def corpus() -> dict[str, Harvested]:
    return {found.name.partition(".")[0]: found for found in harvest(FORGE / "corpus")}


def paper_of(found: Harvested) -> Paper:
    assert found.paper is not None
    return found.paper


class StandIn:
    """Asks the stand-in's rules in this process; says other things first, if it is told to."""

    def __init__(self, *first: str) -> None:
        self.first, self.asked = list(first), list[str]()

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        self.asked.append(prompt)
        if self.first:
            return self.first.pop(0)
        body = {"model": "forge", "messages": [{"role": "user", "content": prompt}]}
        said = Forge().respond(CompletionRequest.read(body))
        assert isinstance(said.content, str)
        return said.content


def test_every_paper_of_the_corpus_is_read_whole(corpus: dict[str, Harvested]) -> None:
    assert corpus.keys() == KEY.keys()
    for name, found in corpus.items():
        paper = paper_of(found)
        assert found.reason is None
        assert paper.language == "en"
        assert len(paper.abstract) > 140, name
        assert len(paper.sections) >= 6, name
        written = FORGE / "written"
        source = next(written.glob(f"{name}.*")).read_text(encoding="utf-8")
        for method, numbers in KEY[name].get("figures", {}).items():
            row = next(row for table in paper.tables for row in table.rows if row[0] == method)
            assert [float(cell) for cell in row[1:]] == pytest.approx(list(numbers.values())), name
            assert " | ".join(row) in paper.text
        for section in paper.sections:
            assert paper.text[section.start :].startswith(section.title)
            assert paper.section_at(section.start) == section.title
        if source.startswith("form: pdf"):
            # Paragraphs stand whole and in order, also those of two columns.
            body = source.partition("\n\n")[2].split("\n\n")
            places = [paper.text.find(one.strip()[:200]) for one in body if one[0].isalpha()]
            assert -1 not in places, name
            assert places == sorted(places), name


def test_what_the_key_says_is_in_the_text(corpus: dict[str, Harvested]) -> None:
    assert "http://data.freight-rates.example/dry-bulk.csv" in paper_of(corpus["dry-bulk"]).text
    assert "capesize, panamax and supramax" in paper_of(corpus["dry-bulk"]).text
    assert "not a part of the paper" not in paper_of(corpus["fx-week"]).text
    assert "Cookies" not in paper_of(corpus["fx-week"]).text


def test_the_script_writes_the_corpus_again_byte_by_byte(tmp_path: Path) -> None:
    script = FORGE.parents[1] / "scripts" / "forge_corpus.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=120)
    for folder in ("corpus", "held_out", "served", "unlucky"):
        for path in (tmp_path / folder).iterdir():
            assert path.read_bytes() == (FORGE / folder / path.name).read_bytes(), path.name


def test_unlucky_files_end_with_a_reason_and_the_rest_goes_on(tmp_path: Path) -> None:
    for path in [*(FORGE / "unlucky").iterdir(), FORGE / "corpus" / "eight-currencies.pdf"]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "huge.html").write_bytes(b"<html><body>" + b"<p>words of a page</p>" * 2_500_000)
    (tmp_path / "away.txt").symlink_to("/etc/passwd")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    deep = b"<div>" * 20_000 + b"some words in the deep of a page that never closes what it opens"
    (tmp_path / "deep.html").write_bytes(b"<html><body>" + deep)
    found = {one.name: one for one in harvest(tmp_path)}
    codes = {name: one.reason.code if one.reason else "" for name, one in found.items()}
    assert codes.pop("deep.html") in {"", "no-text"}
    assert codes == {
        "bomb.tar.gz": "no-text", "empty.txt": "no-text", "french.txt": "language", "locked.pdf": "no-text",
        "noise.pdf": "no-text", "scan.pdf": "no-text", "huge.html": "no-text", "away.txt": "no-text",
        "table.csv": "no-text", "fx-week-second.txt": "", "eight-currencies.pdf": "duplicate-paper",
        "eight-currencies-again.html": "",
    }  # fmt: skip
    assert len({one.key for one in found.values()}) == len(found)
    bomb = found["bomb.tar.gz"].reason
    assert bomb is not None
    assert "unpacked" in bomb.text


def test_a_file_of_many_short_paragraphs_takes_no_more_than_its_share() -> None:
    """Twice as many take twice the processor time; were each compared with all before it, they would take four times as
    much."""
    spent = []
    for paragraphs in (43_000, 86_000):
        before = processor_seconds()
        found = read_file("many.txt", b"Word of it and of others, which are many more\n\n" * paragraphs, "here")
        spent.append(processor_seconds() - before)
        assert found.reason is not None
        assert "characters" in found.reason.text
    assert spent[1] < 3.2 * spent[0]


def processor_seconds() -> float:
    """Processor time of this process and of those that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def test_an_archive_reaches_nothing_outside_of_itself() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        body = rb"\documentclass{article}\begin{document}\section{Data}\input{../../etc/passwd}\input{link} "
        body += b"Forecasts of returns are made here, and this is a sentence of it." + rb"\end{document}"
        for name, link in (("main.tex", ""), ("link.tex", "/etc/passwd")):
            entry = tarfile.TarInfo(name)
            entry.size = 0 if link else len(body)
            entry.type, entry.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
            archive.addfile(entry, io.BytesIO(body) if not link else None)
    found = read_file("paper.tar.gz", gzip.compress(stream.getvalue()), "here")
    assert "root:" not in paper_of(found).text
    assert paper_of(found).sections[0].title == "1 Data"


def test_screen_and_read_decide_as_the_key_says(corpus: dict[str, Harvested], tmp_path: Path) -> None:
    for name, found in corpus.items():
        candidate = CandidateTask(tmp_path, paper_of(found), StandIn())
        results = [ScreenStage().run(candidate), ReadStage().run(candidate)]
        expected = ["passed", "refused" if KEY[name]["stage"] == "read" else "passed"]
        assert [one.state for one in results] == expected, (name, results)
        if expected[1] == "refused":
            assert [reason.code for reason in results[1].reasons] == KEY[name]["codes"]
        for reason in [reason for one in results for reason in (*one.reasons, *one.notes)]:
            for quotation in reason.quotations:
                assert paper_of(found).text[quotation.start :].startswith(quotation.quote)
        notes = {note.code for note in results[1].notes}
        assert ("instructs-reader" in notes) == ("instructs-reader" in KEY[name].get("notes", []))


def test_an_invented_quotation_is_a_malformed_answer(corpus: dict[str, Harvested], tmp_path: Path) -> None:
    invented = {"in_scope": True, "family": "forecasting", "why": "so", "quotations": ["We beat every market by far."]}
    later = {**invented, "quotations": ["The rows are split by time and are never shuffled."]}  # not of the abstract
    paper = paper_of(corpus["treasury-curve"])
    liar = StandIn(json.dumps(invented), json.dumps(later), "I will not answer.")
    result = ScreenStage().run(CandidateTask(tmp_path, paper, liar))
    assert (result.state, result.reasons[0].code) == ("refused", "malformed-answer")
    assert "We beat every market by far." in liar.asked[1]
    mended = StandIn(json.dumps(invented))
    assert ScreenStage().run(CandidateTask(tmp_path, paper, mended)).state == "passed"


def test_a_paper_that_instructs_is_noted_and_an_honest_one_is_not(corpus: dict[str, Harvested]) -> None:
    noted = instructions(paper_of(corpus["ou-paths"]))
    assert "ignore all previous instructions" in noted[0].quotations[0].quote
    assert [name for name, found in corpus.items() if instructions(paper_of(found))] == ["ou-paths"]


def test_a_quotation_is_found_over_line_breaks_and_nowhere_else(corpus: dict[str, Harvested]) -> None:
    paper = paper_of(corpus["long-rates"])
    found = QuotedText(paper).find("in \n time order,".replace("in", "In", 1))
    assert found is not None
    assert paper.text[found.start :].startswith("In time order,")
    assert QuotedText(paper).find("in Time order,") is None
