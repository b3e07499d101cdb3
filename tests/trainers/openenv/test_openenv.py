"""The server of OpenEnv's protocol, used by OpenEnv's own validator and clients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ..conftest import required
from ..serving import PROGRAM, check_both_ways, command

openenv = required("openenv")


@pytest.fixture(scope="module")
def stepped() -> Iterator[str]:
    with command("env", "serve", "--openenv", "equity-rolling-forecast", "--port", "0") as url:
        yield url


@pytest.fixture(scope="module")
def rollouts() -> Iterator[str]:
    with command("env", "serve", "--openenv", "treasury-forecast", "--port", "0", "--backend", "sandbox") as url:
        yield url


def test_the_validator_passes_it(stepped: str, rollouts: str) -> None:
    script = Path(sys.executable).with_name("openenv")
    for url in (stepped, rollouts):
        # What it is made of is built on first use, for which the validator does not wait.
        assert httpx.get(f"{url}/schema", timeout=300.0).status_code == 200
        done = subprocess.run([script, "validate", "--url", url], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "FAIL" not in done.stdout


def test_the_generic_client_steps_it(stepped: str) -> None:
    schema = httpx.get(f"{stepped}/schema", timeout=300.0).json()["action"]
    action = {"action": [0.01] * schema["properties"]["action"]["minItems"]}
    with openenv.GenericEnvClient(base_url=stepped).sync() as env:
        first = env.reset(seed=3)
        assert first.observation["observation"]["bars"]
        assert not first.done
        assert env.step(action).reward is not None
        assert env.state()["step_count"] == 1
        with pytest.raises(RuntimeError, match=r"Server error: .*VALIDATION_ERROR"):
            env.step({"action": []})
        assert env.step(action).done is False
        assert env.reset(seed=3).observation == first.observation


def test_the_client_of_tools_plays_a_verified_rollout(rollouts: str) -> None:
    from openenv.core.env_server.mcp_types import CallToolAction
    from openenv.core.mcp_client import MCPToolClient

    with MCPToolClient(base_url=rollouts).sync() as env:
        names = [tool.name for tool in env.list_tools()]
        assert names == ["run_python", "read_file", "write_file", "finish"]
        assert "Treasury yield forecast" in env.reset(index=3).observation.instruction
        assert env.call_tool("run_python", code="print(6 * 7)") == "42"
        ended = env.step(CallToolAction(tool_name="run_python", arguments={"code": PROGRAM}))
        assert (ended.reward, ended.done) == (0.0, True)


def test_the_sdk_of_the_model_context_protocol_1(tmp_path: Path) -> None:
    check_both_ways(tmp_path)
