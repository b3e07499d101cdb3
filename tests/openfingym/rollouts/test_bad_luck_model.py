"""A model's endpoint that is away for longer than any request."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym.models.testing import StandIn
from openfingym.packages.package import BuiltPackage
from openfingym.results import read_run
from tests.openfingym.rollouts.driving import Cli, require_complete, run_of, runs

pytestmark = pytest.mark.sandbox
SEEDS, PLACES = 8, 4


class Down:
    """A port on which every connection is dropped, and counted."""

    def __init__(self) -> None:
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._drop)
        self._thread.start()

    def _drop(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def end(self) -> None:
        """Free the port for who comes after; twice does no harm."""
        if self._thread.is_alive():
            self._listener.shutdown(socket.SHUT_RDWR)
            self._thread.join()
            self._listener.close()


@pytest.fixture
def down() -> Iterator[Down]:
    made = Down()
    yield made
    made.end()


@pytest.fixture
def arguments(treasury: BuiltPackage, tmp_path: Path, down: Down) -> list[str]:
    agent = ("--agent", "oneshot", "--model", "stand-in/competent", "--base-url", f"http://127.0.0.1:{down.port}/v1")
    return run_of(*agent, out=tmp_path / "run", seeds=SEEDS, backend="sandbox", concurrency=PLACES)


def test_who_waits_for_an_endpoint_does_not_storm_it_and_is_scored_when_it_is_back(
    cli: Cli, arguments: list[str], tmp_path: Path, down: Down
) -> None:
    process = cli.start(*arguments, "--patience", "120")
    until = time.monotonic() + 60
    while down.connections < 3 * PLACES:
        assert time.monotonic() < until
        time.sleep(0.05)
    down.end()
    assert runs(tmp_path / "run") == []
    with StandIn(port=down.port):
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "will be tried again" not in err
    require_complete(tmp_path / "run", SEEDS)
    assert cli.leftovers() == []


def test_an_endpoint_that_stays_away_is_no_score_and_redone_when_asked(
    cli: Cli, arguments: list[str], tmp_path: Path, down: Down
) -> None:
    out = tmp_path / "run"
    status, _, err = cli.run(*arguments, "--patience", "3")
    assert status == 4, err
    require_complete(out, SEEDS, "error")
    assert {(one["boundary"], one["total"], one["relative_total"]) for one in runs(out)} == {("model", None, None)}
    # A first request each, those that were repeated within the patience, and one attempt each of who came after it.
    assert SEEDS <= down.connections <= 10 * PLACES + SEEDS
    down.end()
    with StandIn(port=down.port):
        status, _, err = cli.run(*arguments, "--retry", "error")
    assert status == 0, err
    require_complete(out, SEEDS)
    assert sorted(read_run(path).seed for path in (out / ".failed").iterdir()) == list(range(SEEDS))
    assert cli.leftovers() == []
