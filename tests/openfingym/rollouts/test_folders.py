"""The folder of a run: whole or not at all, one writer, and nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openfingym.errors import StoreError, UsageError
from openfingym.reports.runs import find_runs
from openfingym.results import read_run
from openfingym.rollouts import RunFolder
from tests.openfingym.rollouts.driving import fill, paper, spec


def finish(folder: RunFolder, seed: int = 0, state: str = "scored") -> Path:
    one = spec(seed=seed)
    with folder.staged(one) as place:
        result = paper(one, state, place)
        assert result.path is not None
        kept = folder.keep(one, result, result.path)
    assert kept.path is not None
    return kept.path


def test_what_was_kept_is_found_by_the_next_and_what_was_not_is_gone(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run") as folder:
        path = finish(folder)
        with folder.staged(spec(seed=1)) as place:
            paper(spec(seed=1), "scored", place)
    assert [found.name for found in (tmp_path / "run").glob("*/*")] == [path.name]
    config = json.loads((path / "config.json").read_text())
    assert config["identity"] == spec().identity
    assert config["agent"] == "test", "what the launcher recorded stays"
    assert read_run(path).path == path
    with RunFolder.open(tmp_path / "run") as folder:
        assert folder.find(spec()) == path
        assert folder.find(spec(seed=1)) is None
        assert folder.read([spec(), spec(seed=1)]).keys() == {spec().identity}


def test_a_run_that_was_moved_goes_on_where_it_is(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "here") as folder:
        finish(folder)
    (tmp_path / "here").rename(tmp_path / "there")
    with RunFolder.open(tmp_path / "there") as folder:
        (result,) = folder.read([spec()]).values()
        assert result.path == tmp_path / "there" / spec().folder


def test_a_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    outer = tmp_path / "runs"
    with RunFolder.open(outer / "one") as folder:
        rollout = finish(folder)
    for inside in (rollout.parent, outer / "one" / "deep" / "er"):
        with pytest.raises(UsageError, match=f"is inside another run, {outer / 'one'}"), RunFolder.open(inside):
            pass
    with pytest.raises(UsageError, match="is the folder of one rollout"), RunFolder.open(rollout):
        pass
    with pytest.raises(UsageError, match="holds another run"), RunFolder.open(outer):
        pass
    (outer / ".lock").write_text("somebody else's")
    with RunFolder.open(outer / "two"):
        pass


def test_looking_writes_and_moves_nothing_even_while_another_writes(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run") as writer:
        finish(writer)
        (finish(writer, seed=1) / "result.json").write_text("{")
        before = sorted(tmp_path.rglob("*"))
        folder = RunFolder.look(tmp_path / "run")
        assert folder.read([spec(), spec(seed=1), spec(seed=2)]).keys() == {spec().identity}, (
            "a damaged one is to be run again"
        )
        assert folder.find(spec(seed=1)) is None
        assert sorted(tmp_path.rglob("*")) == before
    assert RunFolder.look(tmp_path / "none").finished == {}
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("damage", ["{", "[]", '{"rollout_id": "x"}', None])
def test_a_damaged_result_is_set_aside_and_missing(tmp_path: Path, damage: str | None) -> None:
    with RunFolder.open(tmp_path) as folder:
        path = finish(folder) / "result.json"
        path.unlink() if damage is None else path.write_text(damage)
        assert folder.read([spec()]) == {}
        assert folder.find(spec()) is None
        assert len(list((tmp_path / ".failed").iterdir())) == 1
        finish(folder)
        assert len(folder.read([spec()])) == 1


def test_a_result_of_another_rollout_under_this_name_does_not_pass_for_it(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path) as folder:
        finish(folder, seed=1).rename(tmp_path / spec().folder)
    with RunFolder.open(tmp_path) as folder:
        assert folder.read([spec()]) == {}


def test_failures_that_were_tried_again_are_evidence_and_in_no_report(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path) as folder:
        for _ in range(3):
            finish(folder, state="error")
            folder.set_aside(spec())
        finish(folder)
    evidence = sorted((tmp_path / ".failed").iterdir())
    assert [read_run(path).state for path in evidence] == ["error"] * 3
    (counted,) = find_runs([tmp_path]).results
    assert counted.state == "scored"


HOLD = """
import sys, time
from pathlib import Path
from openfingym.rollouts import RunFolder
with RunFolder.open(Path(sys.argv[1])) as folder:
    (folder.root / ".staging" / "half").mkdir()
    print("holds", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_refused_and_a_dead_one_is_no_obstacle(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], env=environment, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        with (
            pytest.raises(UsageError, match=rf"process {holder.pid} .* is writing there.*--out"),
            RunFolder.open(tmp_path),
        ):
            pass
        assert (tmp_path / ".staging" / "half").is_dir(), "the second must leave the first one's work alone"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with RunFolder.open(tmp_path):
            assert not (tmp_path / ".staging" / "half").exists()


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--out"), RunFolder.open(tmp_path / "file"):
        pass


def test_on_a_full_disk_nothing_half_written_counts_and_it_goes_on_after(small_disk: Path) -> None:
    with RunFolder.open(small_disk) as folder:
        finish(folder)
        ballast = fill(small_disk)
        with pytest.raises(StoreError, match=r"not be written \(No space"):
            finish(folder, seed=1)
        assert folder.find(spec(seed=1)) is None
        ballast.unlink()
        finish(folder, seed=1)
    assert len(find_runs([small_disk]).results) == 2
