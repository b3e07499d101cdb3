"""The agent's time and the verifier's are told apart."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.results import read_run
from openfingym.rollouts.launcher import Launcher
from openfingym.verifiers.client import VerifierClient
from openfingym.verifiers.stopwatch import Stopwatch
from openfingym_runtime.gate.upstream import Upstream
from tests.openfingym.reports.made import scored, write

SLOW_S = 0.5


def test_what_happens_at_once_counts_once() -> None:
    now = 0.0
    watch = Stopwatch(lambda: now)
    assert watch.elapsed_s == 0.0
    with watch.running():
        now = 1.0
        with watch.running():
            now = 3.0
        assert watch.elapsed_s == 3.0
        now = 4.0
    now = 10.0
    assert watch.elapsed_s == 4.0
    with contextlib.suppress(KeyError), watch.running():
        now = 11.0
        raise KeyError
    now = 20.0
    assert watch.elapsed_s == 5.0


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["naive", "oracle"])
def test_a_slow_verifier_is_not_the_agents_time(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finalize, request, start = VerifierClient.finalize, Upstream.request, VerifierClient.start_episode

    def slowly(call: Any) -> Any:
        def slow(*arguments: Any, **options: Any) -> Any:
            time.sleep(SLOW_S)
            return call(*arguments, **options)

        return slow

    async def slow_request(*arguments: Any) -> Any:
        await asyncio.sleep(SLOW_S)
        return await request(*arguments)

    monkeypatch.setattr(VerifierClient, "finalize", slowly(finalize))
    monkeypatch.setattr(VerifierClient, "start_episode", slowly(start))
    monkeypatch.setattr(Upstream, "request", slow_request)
    with Launcher([build(load_task("treasury-forecast"))], backend="sandbox") as launcher:
        before = time.monotonic()
        result = launcher.run(launcher.packages[0], resolve(name), out=tmp_path)
        whole = time.monotonic() - before
    assert result.state == "scored"
    assert result.verifier_s is not None
    assert result.verifier_s >= 2 * SLOW_S
    assert 0.0 <= result.wall_s <= whole - result.verifier_s
    assert (result.wall_s == 0.0) == (name == "oracle")
    assert result.path is not None
    assert read_run(result.path) == result


def test_a_result_that_does_not_state_the_verifiers_time_is_read(tmp_path: Path) -> None:
    (folder,) = write(tmp_path, scored(0.5))
    stated = json.loads((folder / "result.json").read_text())
    del stated["verifier_s"]
    (folder / "result.json").write_text(json.dumps(stated))
    assert (read_run(folder).wall_s, read_run(folder).verifier_s) == (10.0, None)
