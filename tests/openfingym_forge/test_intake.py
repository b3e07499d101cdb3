"""Papers are taken in once, and what is there stays: duplicates, damaged records, sources that are harvested again."""

from __future__ import annotations

from pathlib import Path

import pytest

from openfingym_forge.folder import ForgeFolder, ForgeSettings, PaperFolder
from openfingym_forge.intake import take_in
from openfingym_forge.pipeline import forge_papers
from tests.openfingym_forge.steps import install, stages

QUIET = """A study of quiet markets and of loud ones

Abstract. We forecast the returns of one series from its own past, on daily data of thirty years, and compare many
methods with each other by mean squared error over a long test part that was never looked at before, in order.

1 Introduction

Markets are quiet or loud. This text says so in many words and for a good reason, since a paper needs words.
"""
OTHER = """Curves of interest rates in an age of change

Abstract. Yields of government bonds are predicted for five days ahead, by regressions on what was seen in the twenty
days before, and the errors of each maturity are added up with equal weights, for every country that has such bonds.

1 Introduction

A curve has a level, a slope and a curvature, as was said long ago, and more is hardly ever needed to describe one.
"""


@pytest.fixture
def forge(tmp_path: Path) -> ForgeFolder:
    return ForgeFolder.begin(tmp_path / "forge", ForgeSettings("stand-in/forge", "stand-in/forge"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "quiet.txt").write_text(QUIET)
    return folder


def states(forge: ForgeFolder, source: Path) -> dict[str, str]:
    """How the harvest of each file ended, by the name of the file."""
    kept = [result for _, result in take_in(forge, source)]
    return {str(one.result.facts["file"]): one.result.state for one in kept if one is not None}


def taken(forge: ForgeFolder, source: Path) -> list[PaperFolder]:
    return [folder for folder, _ in take_in(forge, source)]


def test_a_paper_is_not_the_duplicate_of_its_duplicate(forge: ForgeFolder, source: Path) -> None:
    (source / "quiet-again.txt").write_text(QUIET + "\nA later version has one more sentence.\n")
    first = {"quiet-again.txt": "passed", "quiet.txt": "refused"}
    assert states(forge, source) == first
    results = [folder.result("harvest") for folder in forge.papers()]
    assert states(forge, source) == first
    assert [folder.result("harvest") for folder in forge.papers()] == results


def test_papers_are_the_same_from_another_place(forge: ForgeFolder, source: Path) -> None:
    folders = [folder.path for folder in taken(forge, source)]
    source.rename(source.with_name("moved"))
    assert [folder.path for folder in taken(forge, source.with_name("moved"))] == folders


def test_one_file_under_two_names_is_one_paper(forge: ForgeFolder, source: Path) -> None:
    (source / "same.txt").write_text(QUIET)
    assert len(taken(forge, source)) == len(forge.papers()) == 1


@pytest.mark.parametrize("name", ["paper.json", "harvest.json"])
def test_a_damaged_record_of_an_earlier_paper_stops_no_other(forge: ForgeFolder, source: Path, name: str) -> None:
    [earlier] = taken(forge, source)
    whole = (earlier.path / name).read_bytes()
    (earlier.path / name).write_bytes(whole[: len(whole) // 2])
    before = {path.name: path.read_bytes() for path in earlier.path.iterdir() if path.is_file()}
    (source / "other.txt").write_text(OTHER)
    folders = taken(forge, source)
    ended = {one.key: one.kept.result for one in forge_papers(forge, folders, stages, install)}
    [other] = [folder for folder in folders if folder.key != earlier.key]
    assert ended[other.key].state == "passed"
    assert ended[earlier.key].state == "failed"
    assert str(earlier.path / name) in ended[earlier.key].reasons[0].text
    assert {path.name: path.read_bytes() for path in earlier.path.iterdir() if path.is_file()} == before


def test_an_earlier_paper_stays_when_a_later_form_came_while_its_record_was_damaged(
    forge: ForgeFolder, source: Path
) -> None:
    [earlier] = taken(forge, source)
    whole = (earlier.path / "paper.json").read_bytes()
    (earlier.path / "paper.json").write_text("{")
    (source / "quiet.txt").rename(source.with_name("quiet.txt"))
    (source / "quiet-again.txt").write_text(QUIET + "\nA later version has one more sentence.\n")
    assert states(forge, source) == {"quiet-again.txt": "passed"}
    source.with_name("quiet.txt").rename(source / "quiet.txt")
    both = {"quiet-again.txt": "passed", "quiet.txt": "passed"}
    assert states(forge, source) == both
    assert (earlier.path / "paper.json").read_text() == "{"
    (earlier.path / "paper.json").write_bytes(whole)
    assert states(forge, source) == both


def test_a_damaged_paper_that_was_removed_is_made_again_and_keeps_its_results(forge: ForgeFolder, source: Path) -> None:
    [folder] = taken(forge, source)
    list(forge_papers(forge, [folder], stages, install))
    results, paper = folder.results(), folder.paper()
    (folder.path / "paper.json").unlink()
    assert [one.path for one in taken(forge, source)] == [folder.path]
    assert folder.paper() == paper
    assert folder.results() == results
