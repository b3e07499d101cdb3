"""Every paper ends in a state that says why, whatever happens to the process, and nothing is done twice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from openfingym.errors import StoreError, UsageError
from openfingym_forge.folder import ForgeFolder, ForgeSettings, PaperFolder
from openfingym_forge.paper import Paper, PaperSection, PaperTable
from openfingym_forge.pipeline import forge_papers, work_on
from openfingym_forge.stage import STAGES, RejectionReason, StageResult
from tests.openfingym_forge.steps import NAMES, NoAsking, blueprint, install, stages

SETTINGS = ForgeSettings("stand-in/forge", "stand-in/forge")
MODELS = (SETTINGS.model, SETTINGS.reviewer)


def paper(key: str, text: str = "") -> Paper:
    """A paper whose text tells the stages what to do."""
    section = PaperSection("1 Introduction", 1, 0, len(text))
    table = PaperTable("Results", (("method", "MSE"), ("naive", "1.0")), 0)
    return Paper(key, "A paper", "", text, (section,), (table,), "en", "text", key, "0" * 64, "1" * 64)


def harvested(forge: ForgeFolder, key: str, text: str = "") -> PaperFolder:
    folder = forge.paper(key)
    folder.keep_paper(paper(key, text), f"{key}.txt", text.encode())
    folder.keep_result(StageResult("harvest", "passed"), "", 0.0)
    return folder


@pytest.fixture
def forge(tmp_path: Path) -> ForgeFolder:
    return ForgeFolder.begin(tmp_path / "forge", SETTINGS)


def runs(folder: PaperFolder) -> dict[str, int]:
    """How often each stage ran."""
    return {
        name: len((folder.path / f"{name}.runs").read_text().splitlines())
        for name in NAMES
        if (folder.path / f"{name}.runs").exists()
    }


def run(folder: PaperFolder, models: tuple[str, ...] = MODELS) -> tuple[str, str]:
    kept = work_on(folder, NoAsking(), stages(None, folder)[1], models)  # type: ignore[arg-type]
    assert kept is not None
    return kept.result.stage, kept.result.state


def test_what_is_kept_is_read_as_it_was(forge: ForgeFolder) -> None:
    folder = harvested(forge, "a", "some text")
    assert folder.paper() == paper("a", "some text")
    result = StageResult("screen", "refused", (RejectionReason("no-metric", "none"),), facts={"rows": 3}, files=("x",))
    kept = folder.keep_result(result, "from", 1.5)
    assert folder.result("screen") == kept
    assert kept.result == result


def test_each_paper_ends_in_a_state_that_says_why(forge: ForgeFolder) -> None:
    texts = {
        "a-honest": "",
        "a-twin": "",
        "b-killed": "triage: kill",
        "c-killed-once": "triage: kill once",
        "d-refused": "screen: refuse",
        "e-defect": "extract: defect",
        "f-poor": "extract: budget",
        "g-alone": "triage: no model",
    }
    folders = [harvested(forge, key, text) for key, text in texts.items()]
    seen = {one.key for one in forge_papers(forge, folders, stages, install)}
    assert seen == set(texts)
    found = {
        folder.key: (*folder.state(), *(one.code for one in folder.results()[-1].result.reasons)) for folder in folders
    }
    assert found == {
        "a-honest": ("install", "passed"),
        "a-twin": ("install", "refused", "duplicate-task"),
        "b-killed": ("triage", "failed", "machinery"),
        "c-killed-once": ("install", "passed"),
        "d-refused": ("screen", "refused", "no-metric"),
        "e-defect": ("extract", "failed", "machinery"),
        "f-poor": ("extract", "failed", "budget"),
        "g-alone": ("triage", "failed", "model-unavailable"),
    }
    before = {folder.key: runs(folder) for folder in folders}
    list(forge_papers(forge, [folders[0], folders[4]], stages, install, jobs=1))
    assert {folder.key: runs(folder) for folder in folders} == before


def test_a_failure_is_tried_again_and_nothing_before_it(forge: ForgeFolder) -> None:
    folder = harvested(forge, "a", "triage: no model")
    assert run(folder) == ("triage", "failed")
    assert run(folder) == ("triage", "failed")
    assert runs(folder) == {"screen": 1, "read": 1, "extract": 1, "triage": 2}


def test_an_edited_blueprint_is_kept_and_what_follows_is_done_again(forge: ForgeFolder) -> None:
    folder = harvested(forge, "a")
    assert run(folder) == ("prove", "passed")
    folder.blueprint_path.write_text(blueprint("a", 21))
    assert run(folder) == ("prove", "passed")
    assert runs(folder) == {"screen": 1, "read": 1, "extract": 1, "triage": 2, "prove": 2}
    kept = folder.result("triage")
    assert kept is not None
    assert kept.result.facts["seen"] == "21"
    assert run(folder) == ("prove", "passed")
    assert runs(folder)["prove"] == 2


def test_a_malformed_edit_ends_in_an_error_that_names_the_file(forge: ForgeFolder) -> None:
    folder = harvested(forge, "a")
    run(folder)
    edited = 'format = 1\npaper = "a"\nname = 3 4\n'
    folder.blueprint_path.write_text(edited)
    with pytest.raises(UsageError, match=r"blueprint\.toml"):
        run(folder)
    assert folder.blueprint_path.read_text() == edited


def test_another_model_does_it_all_again(forge: ForgeFolder) -> None:
    folder = harvested(forge, "a")
    run(folder)
    run(folder, ("another", "another"))
    assert set(runs(folder).values()) == {2}


def test_a_damaged_record_is_named(forge: ForgeFolder) -> None:
    folder = harvested(forge, "a")
    run(folder)
    (folder.path / "triage.json").write_text('{"result": 3')
    with pytest.raises(StoreError, match=r"triage\.json"):
        run(folder)


def test_files_that_cannot_be_read_end_their_own_papers_and_stay_as_they_are(forge: ForgeFolder) -> None:
    names = ("paper.json", "harvest.json", "triage.json", "prove.json", "blueprint.toml")
    damaged = {f"{number}-damaged": name for number, name in enumerate(names)}
    folders = [harvested(forge, key) for key in [*damaged, "b"]]
    for folder in folders[:-1]:
        run(folder)
        (folder.path / damaged[folder.key]).write_text("{[")
    told = {one.key: one.kept.result for one in forge_papers(forge, folders, stages, install)}
    assert folders[-1].state() == ("install", "passed")
    for folder in folders[:-1]:
        path = folder.path / damaged[folder.key]
        assert told[folder.key].state == "failed"
        assert str(path) in told[folder.key].reasons[0].text
        assert path.read_text() == "{["
        assert not (folder.path / "install.json").exists()


def test_a_process_that_was_killed_while_idle_is_replaced(forge: ForgeFolder) -> None:
    folders = [harvested(forge, "a", "screen: refuse"), harvested(forge, "b")]
    progress = forge_papers(forge, folders, stages, install, jobs=1)
    assert next(progress).kept.result.state == "refused"
    workers = [one for one in psutil.Process().children() if "spawn_main" in " ".join(one.cmdline())]
    assert len(workers) == 1
    workers[0].kill()
    psutil.wait_procs(workers, timeout=30)
    assert [(one.key, one.kept.result.state) for one in progress][-1] == ("b", "passed")
    assert folders[1].state() == ("install", "passed")
    assert runs(folders[1]) == dict.fromkeys(NAMES, 1)


def _forge_whole(root: Path) -> None:
    forge = ForgeFolder.open(root)
    list(forge_papers(forge, forge.papers(), stages, install))


def test_killed_again_and_again_it_goes_on(forge: ForgeFolder) -> None:
    for number in range(6):
        harvested(forge, f"{'abcdef'[number]}-paper")
    for records in (0, 1, 16):  # of 30 before the installation
        process = multiprocessing.get_context("spawn").Process(target=_forge_whole, args=(forge.root,))
        process.start()
        assert process.pid is not None
        while len([path for name in NAMES for path in forge.root.glob(f"papers/*/{name}.json")]) < records:
            assert process.is_alive()
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    _forge_whole(forge.root)
    for folder in forge.papers():
        assert folder.state() == ("install", "passed")
        assert [one.result.stage for one in folder.results()] == [
            name for name in STAGES if name in {"harvest", *NAMES, "install"}
        ]


def test_nothing_works_on_in_a_forge_whose_process_was_killed(forge: ForgeFolder) -> None:
    folder = harvested(forge, "a", "triage: sleep")
    process = multiprocessing.get_context("spawn").Process(target=_forge_whole, args=(forge.root,))
    process.start()
    assert process.pid is not None
    while "triage" not in runs(folder):
        time.sleep(0.05)
    below = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    _, alive = psutil.wait_procs(below, timeout=30)
    assert alive == []


def test_one_process_works_in_a_forge(forge: ForgeFolder) -> None:
    with forge.working(), pytest.raises(UsageError, match="another process"), ForgeFolder.open(forge.root).working():
        pass
    with forge.working():
        pass


def test_a_forge_is_begun_once(forge: ForgeFolder, tmp_path: Path) -> None:
    again = ForgeFolder.begin(forge.root, ForgeSettings(*MODELS, budget_usd=3.0))
    assert ForgeFolder.open(forge.root).settings.budget_usd == again.settings.budget_usd == 3.0
    with pytest.raises(UsageError, match="another reviewer"):
        ForgeFolder.begin(forge.root, ForgeSettings("stand-in/forge", "other"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="not empty"):
        ForgeFolder.begin(tmp_path / "mine", SETTINGS)
    with pytest.raises(UsageError, match="no forge"):
        ForgeFolder.open(tmp_path / "mine")


def test_papers_are_found_by_the_beginning_of_their_keys(forge: ForgeFolder) -> None:
    for key in ("treasury-1", "treasury-10", "fx-2"):
        harvested(forge, key)
    assert forge.find("fx").key == "fx-2"
    assert forge.find("treasury-1").key == "treasury-1"
    with pytest.raises(UsageError, match="may be any of"):
        forge.find("treas")
    with pytest.raises(UsageError, match="no paper"):
        forge.find("equity")
