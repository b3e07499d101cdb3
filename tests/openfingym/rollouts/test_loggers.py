"""Loggers: told of every result; whatever goes wrong with one, the run is whole."""

from __future__ import annotations

import logging
import struct
import sys
import threading
from pathlib import Path

import pytest

from openfingym import rollouts
from openfingym.errors import UsageError
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.rollouts.engine import RunWatcher
from openfingym.rollouts.loggers import OWN, figures_of, labels_of, load_loggers
from openfingym.rollouts.loggers.telling import LoggingWatcher
from tests.openfingym.reports.made import failed, scored

PLAN = {"tasks": ["treasury-forecast"], "agents": ["naive"], "seeds": 3, "backend": "inline", "concurrency": 1}


class Told:
    """Notes what it is told."""

    made: list[Told]

    def __init__(self, folder: Path) -> None:
        self.folder, self.results, self.closed = folder, [], 0
        type(self).made = [*getattr(type(self), "made", []), self]

    def ended(self, result: RolloutResult) -> None:
        self.results.append(result)

    def close(self) -> None:
        self.closed += 1


class Broken(Told):
    """Fails at its second result, and when it is closed."""

    def ended(self, result: RolloutResult) -> None:
        super().ended(result)
        if len(self.results) == 2:
            raise SystemExit("no space left")

    def close(self) -> None:
        super().close()
        raise OSError("nor at the end")


@pytest.fixture(autouse=True)
def _nobody_is_told() -> None:
    Told.made, Broken.made = [], []


def test_a_logger_that_fails_neither_fails_nor_loses_a_rollout(
    treasury: BuiltPackage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "openfingym"):
        results = rollouts.run(rollouts.Plan.make(PLAN), tmp_path / "run", log=[Told, Broken])
    assert [one.state for one in results] == ["scored"] * 3
    (told,), (broken,) = Told.made, Broken.made
    assert told.folder == tmp_path / "run"
    assert sorted(told.results, key=lambda one: one.seed) == results
    assert (len(broken.results), told.closed, broken.closed) == (2, 1, 1)
    assert [record.getMessage() for record in caplog.records] == [
        "logger Broken failed and is told nothing more; the run goes on (SystemExit: no space left)"
    ]
    # What is finished is not run again, and nobody is told of it again.
    assert rollouts.run(rollouts.Plan.make(PLAN), tmp_path / "run", log=[Told]) == results
    assert len(Told.made) == 1


def test_a_logger_that_hangs_is_given_up(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    free = threading.Event()

    class Hangs(Told):
        def ended(self, result: RolloutResult) -> None:
            free.wait()

    telling = LoggingWatcher(RunWatcher(), {"slow": Hangs(tmp_path), "quick": (quick := Told(tmp_path))})
    for seed in range(3):
        telling.ended(None, scored(0.5, seed=seed))
    telling.close(patience_s=0.05)
    assert "logger slow did not end within 0.05 s" in caplog.text
    free.set()
    for thread in telling._threads:
        thread.join()
    assert [one.seed for one in quick.results] == [0, 1, 2]
    assert quick.closed == 1


@pytest.mark.parametrize("name", OWN)
def test_a_missing_library_is_said_before_anything_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, {"tensorboard": "tensorboardX"}.get(name, name), None)
    with pytest.raises(UsageError, match=rf"needs the extra `{name}`: pip install 'openfingym\[{name}\]'"):
        rollouts.run(rollouts.Plan.make(PLAN), tmp_path / "run", log=[name])
    assert not (tmp_path / "run").exists()


def test_a_logger_that_cannot_begin_is_an_error(treasury: BuiltPackage, tmp_path: Path) -> None:
    def locked(folder: Path) -> Told:
        raise PermissionError("no key")

    with pytest.raises(UsageError, match=r"logger 'locked' cannot begin \(PermissionError: no key\)"):
        rollouts.run(rollouts.Plan.make(PLAN), tmp_path / "run", log=[Told, locked])
    assert [one.closed for one in Told.made] == [1]
    with pytest.raises(UsageError, match="no logger 'tensorbord'; known: tensorboard, mlflow, wandb"):
        load_loggers(["tensorbord"])


def test_a_distribution_brings_a_logger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_loggers.py").write_text("def made(folder):\n    return folder\n")
    info = tmp_path / "my_loggers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-loggers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[openfingym.loggers]\nmine = my_loggers:made\nbad = my_loggers:none\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_loggers(["mine"])["mine"](tmp_path) == tmp_path
    with pytest.raises(UsageError, match=r"logger 'bad' of my-loggers \(my_loggers:none\) cannot be loaded"):
        load_loggers(["bad"])


def test_what_is_not_there_is_not_told() -> None:
    result = failed("error", wall_s=float("inf"))
    assert figures_of(result).keys() == {"turns", "prompt_tokens", "completion_tokens"}
    assert labels_of(result)["state"] == "error"
    assert "model" not in labels_of(result)
    assert figures_of(failed("rejected")) | {"success": 0.0, "reward": -100.0} == figures_of(failed("rejected"))


def test_tensorboard_reads_what_was_told(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    logger = load_loggers(["tensorboard"])["tensorboard"](tmp_path)
    for seed, relative in enumerate((0.5, 0.75)):
        logger.ended(scored(relative, seed=seed, data_kind="simulated"))
    logger.ended(failed("error"))
    logger.close()
    (file,) = (tmp_path / "tensorboard").iterdir()
    data, at, found = file.read_bytes(), 0, {}
    while at < len(data):  # length, its checksum, the event, its checksum
        (length,) = struct.unpack_from("<Q", data, at)
        event = Event.FromString(data[at + 12 : at + 12 + length])
        at += 16 + length
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    assert found["relative_total/simulated/treasury-forecast/ridge"] == [(0, 0.5), (1, 0.75)]
    assert found["success/simulated/treasury-forecast/ridge"] == [(0, 1.0), (1, 1.0)]
    assert "success/real/treasury-forecast/ridge" not in found
    assert len(found["wall_s/real/treasury-forecast/ridge"]) == 1
