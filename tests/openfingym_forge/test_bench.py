"""The bench of the forge: a corpus run up to triage by the stand-in, marked against its key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openfingym.errors import UsageError
from openfingym.models.messages import Message
from openfingym.models.testing import CompletionRequest, find_policy
from openfingym_forge.bench import ForgeBench, mark_forge, read_key, side_by_side
from openfingym_forge.bench.comparing import alike
from openfingym_forge.blueprint import Stated
from openfingym_forge.blueprint_file import read_blueprint, write_blueprint
from openfingym_forge.extraction import ExtractStage
from openfingym_forge.folder import ForgeFolder, ForgeSettings
from openfingym_forge.papers.harvest import harvest
from openfingym_forge.pipeline import work_on
from openfingym_forge.stage import Role, StageResult
from openfingym_forge.triage import TriageStage

CORPUS = Path(__file__).parent / "corpus"
KEY = CORPUS.parent / "key"


class StandIn:
    """The stand-in, asked directly."""

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        """Its answer."""
        assert role
        assert purpose
        policy, _ = find_policy("stand-in/forge")
        return policy.respond(CompletionRequest("single", (Message("user", prompt),), {})).content


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> ForgeFolder:
    made = ForgeFolder.begin(
        tmp_path_factory.mktemp("bench") / "forge", ForgeSettings("stand-in/forge", "stand-in/forge")
    )
    for found in harvest(CORPUS):
        folder = made.paper(found.key)
        assert found.paper is not None
        folder.keep_paper(found.paper, found.name, found.original)
        folder.keep_result(StageResult("harvest", "passed", facts={"file": found.name}), "", 0.0)
        work_on(folder, StandIn(), [ExtractStage(), TriageStage()], [])
    return made


@pytest.fixture(scope="module")
def bench(forge: ForgeFolder) -> ForgeBench:
    return mark_forge(forge, read_key(KEY), upto="triage")


def test_the_stand_in_reads_the_corpus_as_its_key_has_it(bench: ForgeBench) -> None:
    figures = bench.figures()
    assert figures["papers"] == 12
    whole = [name for name in figures if name.startswith(("precision of q", "recall", "precision of c"))]
    assert {name: figures[name] for name in whole} == dict.fromkeys(whole, 1.0)
    assert (figures["refused falsely"], figures["wrong reasons"], figures["failed"]) == (0, 0, 0)


def test_only_what_an_earlier_stage_refuses_is_let_through(bench: ForgeBench) -> None:
    through = [paper.mark.paper for paper in bench.papers if paper.verdict("triage") == "let through"]
    assert through == ["client-flow"]  # without stage `read`, which refuses it


def test_what_is_wrong_is_told(forge: ForgeFolder, bench: ForgeBench) -> None:
    folder = forge.find("a-week-of-dollars")
    whole = folder.blueprint_path.read_bytes()
    blueprint = read_blueprint(folder.blueprint_path)
    quoted = blueprint.fields["contract.horizon"].quotations
    fields = blueprint.fields | {"contract.horizon": Stated(value=50, quotations=quoted)}
    write_blueprint(folder.blueprint_path, blueprint.model_copy(update={"fields": fields, "metrics": []}))
    try:
        worse = mark_forge(forge, read_key(KEY), upto="triage")
    finally:
        folder.blueprint_path.write_bytes(whole)
    one, other = bench.figures(), worse.figures()
    assert isinstance(other["precision of quoted fields"], float)
    assert other["precision of quoted fields"] < 1.0
    assert isinstance(other["recall of metrics"], float)
    assert other["recall of metrics"] < 1.0
    assert one["recall of metrics"] == 1.0
    table = side_by_side([bench, worse])
    assert "fx-week: contract.horizon is 50, expected 5" in table
    assert table.count("stand-in/forge") > 2
    json.dumps(worse.as_json())


def test_a_folder_without_the_papers_is_refused(tmp_path: Path) -> None:
    empty = ForgeFolder.begin(tmp_path / "forge", ForgeSettings("stand-in/forge", "stand-in/forge"))
    with pytest.raises(UsageError, match="none of the key's 12 papers"):
        mark_forge(empty, read_key(KEY))
    with pytest.raises(UsageError, match="answer key"):
        read_key(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (0.333333333, 1 / 3, True),
        (True, 1, False),
        (["A b"], ["a_b"], True),
        (0.2, 0.25, False),
        ("x", 3, False),
    ],
)
def test_alike(one: object, other: object, same: bool) -> None:
    assert alike(one, other) is same
