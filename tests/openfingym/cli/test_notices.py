"""Warnings of the library, where a command shows its progress."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from openfingym.cli import main
from openfingym.cli.notices import noticing
from openfingym.cli.rollout_progress import RunReporter
from openfingym.packages.package import BuiltPackage
from tests.openfingym.models.test_outage import nowhere


@pytest.mark.parametrize(("command", "quiet"), [("run", False), ("run", True), ("rollout", False)])
def test_an_endpoint_that_is_away_is_told_unless_quiet(
    command: str,
    quiet: bool,
    treasury: BuiltPackage,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("openfingym.models.outage.UNREACHED_S", 0.3)
    task = ["treasury-forecast"] if command == "run" else ["--tasks", treasury.manifest.name]
    options = ["--agent", "react", "--model", "m", "--base-url", nowhere(), "--patience", "300", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["openfingym", command, *task, *options, *(["--quiet"] if quiet else [])])
    with pytest.raises(SystemExit, match="4"):
        main()
    said = capsys.readouterr()
    assert ("does not answer (no connection: Connection refused)" in said.err) == (not quiet)
    assert "cannot be reached" in " ".join((said.out + said.err).split())


def test_a_notice_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("openfingym")
    before = list(logger.handlers)
    with RunReporter(tmp_path, quiet=False) as reporter, noticing(reporter.notice):
        logging.getLogger("openfingym.models").warning("it is away\x1b[2J")
    assert logger.handlers == before
    assert capsys.readouterr().err == "it is away\\x1b[2J\n"
    with RunReporter(tmp_path, quiet=True) as reporter, noticing(reporter.notice):
        logging.getLogger("openfingym.models").warning("it is away")
    assert not capsys.readouterr().err
