"""Servers for other people show hidden test data only through a verifier that counts what it tells, and bounds it.

The attack: `mcp --http` or `env serve` for others on a local verifier told exact results, and so all labels in a
hundred sessions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.listener import Listener
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.serving import serve

ADMIN = "an-admin-token-for-tests"
SCRIPT = str(Path(sys.executable).with_name("openfingym"))
MCP = ["mcp", "treasury-forecast", "--http", "--port", "0"]
STEPPED = ["env", "serve", "--openenv", "equity-rolling-forecast", "--port", "0"]
TOOLS = ["env", "serve", "--openenv", "treasury-forecast", "--port", "0"]
WORSE = """
import numpy as np, interface
_, steps, series = interface.SUBMISSION_SHAPE
interface.predict_each(lambda shown: 1.5 * np.repeat(np.asarray(shown)[:, -1:, :series], steps, axis=1))
"""
"""Worse than the baseline, which no participant is told before the season is closed."""


@pytest.fixture
def listened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Listener]:
    """The listeners that were about to serve; none does."""
    found: list[Listener] = []
    monkeypatch.setattr(Listener, "serve_web", lambda self, *_: found.append(self))
    monkeypatch.chdir(tmp_path)
    # A server tells its environments of its verifier by this variable.
    monkeypatch.setenv("OPENFINGYM_VERIFIER", "")
    return found


def refusal(*arguments: str) -> str:
    error = CliRunner().invoke(cli, list(arguments)).exception
    assert isinstance(error, UsageError), repr(error)
    return str(error)


@pytest.mark.parametrize(
    "others", [["--host", "0.0.0.0"], ["--token-file", "t"], ["--host", "::", "--token-file", "t"]]
)
@pytest.mark.parametrize(
    "server", [MCP, [*STEPPED, "--split", "practice"], [*STEPPED, "--split", "train", "--split", "test"]]
)
def test_a_local_verifier_is_refused_with_what_would_do(
    listened: list[Listener], server: list[str], others: list[str]
) -> None:
    told = refusal(*server, *others)
    task = "treasury-forecast" if server is MCP else "equity-rolling-forecast"
    assert re.search("strict policy.*local verifier that would be started here tells exact results", told)
    serve, add, again = told.splitlines()[1:]
    assert serve.strip().startswith(f"openfingym verifier serve --task {task} --port 8080")
    assert "openfingym verifier participant add NAME --verifier http://127.0.0.1:8080" in add
    start, end = f"OPENFINGYM_KEY=KEY openfingym {' '.join(server[:2])}", " --verifier http://127.0.0.1:8080"
    assert again.strip().startswith(start)
    assert again.endswith(end)
    assert ("--token-file FILE" in again) == ("--token-file" in others)
    assert listened == []


@pytest.mark.parametrize(
    "arguments",
    [
        MCP,
        [*STEPPED, "--split", "test"],
        [*TOOLS, "--split", "test"],
        [*MCP, "--split", "train", "--host", "0.0.0.0", "--token-file", "t"],
        [*STEPPED, "--host", "0.0.0.0"],
        [*TOOLS, "--split", "validation", "--host", "::"],
    ],
)
def test_what_is_this_users_own_or_hides_no_test_data_is_served(listened: list[Listener], arguments: list[str]) -> None:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert len(listened) == 1
    assert (listened[0].token is None) == ("--token-file" not in arguments)


@pytest.fixture(scope="module", params=["strict", "local"])
def verifier(
    request: pytest.FixtureRequest, treasury: BuiltPackage, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, str]]:
    """A verifier's policy and URL, and a participant's key."""
    command = [sys.executable, "-P", "-m", "openfingym_verifier", "--state", str(tmp_path_factory.mktemp("state"))]
    command += ["--port", "0", "--policy", request.param, "--package", str(treasury.public), str(treasury.truth)]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENFINGYM_ADMIN_TOKEN": ADMIN}
    with subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        with VerifierClient(base_url=url, admin_token=ADMIN) as operator:
            key = operator.add_participant("players")
        yield request.param, url, key
        process.kill()


def test_only_a_participant_of_a_strict_verifier_serves_others(
    verifier: tuple[str, str, str], listened: list[Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, url, key = verifier
    server = [*MCP, "--token-file", "t", "--verifier", url]
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", ADMIN)
    monkeypatch.setenv("OPENFINGYM_KEY", key)
    told = refusal(*server)
    assert "with its admin token" in told
    assert "OPENFINGYM_KEY=KEY openfingym mcp treasury-forecast --http --host 127.0.0.1" in told
    monkeypatch.delenv("OPENFINGYM_ADMIN_TOKEN")
    if policy == "local":
        assert re.search("does not take this key.*local policy", refusal(*server))
        assert listened == []
    else:
        assert CliRunner().invoke(cli, server, catch_exceptions=False).exit_code == 0
        assert len(listened) == 1
        monkeypatch.setenv("OPENFINGYM_KEY", "ofk_" + "0123456789" * 4)
        assert "does not take this key" in refusal(*server)


@pytest.mark.parametrize("listener", [Listener("0.0.0.0", proxies="127.0.0.1"), Listener("127.0.0.1", proxies="::1")])
def test_a_verifier_with_the_local_policy_is_for_this_machine_alone(listener: Listener, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--policy strict"):
        serve([], state=tmp_path / "state", admin_token=ADMIN, listener=listener, policy="local")
    assert not (tmp_path / "state").exists()


@pytest.mark.sandbox
@pytest.mark.parametrize("verifier", ["strict"], indirect=True)
def test_players_are_told_no_more_than_a_participant(verifier: tuple[str, str, str], tmp_path: Path) -> None:
    """Of any answer that it is held, and nothing else, before the season is closed."""
    _, url, key = verifier
    environment = {**os.environ, "OPENFINGYM_KEY": key}
    (tmp_path / "t").write_text(ADMIN)
    (tmp_path / "t").chmod(0o600)
    command = [SCRIPT, *MCP, "--backend", "sandbox", "--token-file", str(tmp_path / "t"), "--verifier", url]
    command += ["--out", str(tmp_path / "runs")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            where = next(found[1] for line in process.stderr if (found := re.search(r" on (http://\S+)", line)))
            results = [_play(where) for _ in range(2)]
        finally:
            process.terminate()
    for told in results:
        assert "structuredContent" not in told
        assert "the result is held" in told["content"][0]["text"]


def _play(url: str) -> Any:
    """Play a rollout by an answer that is worse than the baseline; the result of ``finish``."""
    with httpx.Client(headers={"Authorization": f"Bearer {ADMIN}"}, timeout=120) as http:

        def ask(method: str, **params: object) -> Any:
            answer = http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            if "Mcp-Session-Id" in answer.headers:
                http.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
            lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
            return json.loads(lines[-1] if lines else answer.text)["result"]

        ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "c", "version": "1"})
        ask("tools/call", name="run_python", arguments={"code": WORSE})
        return ask("tools/call", name="finish", arguments={})
