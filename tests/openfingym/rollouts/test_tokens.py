"""Token ids, log probabilities and masks of answers: kept where somebody tells them, and never made up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openfingym import rollouts
from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.models import Completion, Message, ModelSpec, Usage, from_function
from openfingym.models.messages import CompletionTokens
from openfingym.packages.build import build
from openfingym.results import RolloutResult
from openfingym.rollouts import Plan
from openfingym.rollouts.launcher import Launcher
from openfingym.trajectory import RolloutRecord, read_rollout
from openfingym.trajectory.record import TokenTrace
from tests.openfingym.models.scripted import Json, Scripted, completion, refusal

pytestmark = pytest.mark.sandbox
PROSE = {"role": "assistant", "content": "No program."}
LOGPROBS = {"content": [{"token": "No", "logprob": -0.5}, {"token": " program.", "logprob": -1.5}]}
TOLD = {"token_ids": [11, 12], "logprobs": LOGPROBS}


@pytest.fixture(scope="module")
def launcher(store_home: Path) -> Iterator[Launcher]:
    with Launcher([build(load_task("treasury-forecast"))], backend="sandbox") as running:
        yield running


def traces(record: RolloutRecord) -> list[TokenTrace | None]:
    return [turn.generation.tokens for turn in record.messages if turn.generation is not None]


def played(launcher: Launcher, out: Path, model: Any) -> tuple[RolloutResult, list[TokenTrace | None]]:
    result = launcher.run(launcher.packages[0], resolve("oneshot"), model=model, out=out)
    assert result.path is not None
    return result, traces(read_rollout(result.path / "trajectory.json"))


def test_from_the_command_line_and_from_a_plan(tmp_path: Path, store_home: Path) -> None:
    common = ["--model", "stand-in/competent", "--backend", "sandbox", "--json"]
    ran = CliRunner().invoke(
        cli, ["run", "treasury-forecast", "--agent", "oneshot", "--tokens", "--out", str(tmp_path / "run"), *common]
    )
    assert ran.exit_code == 0, ran.output
    found = [Path(json.loads(ran.stdout)[0]["path"])]
    plan = Plan.make(
        {
            "tasks": ["treasury-forecast"],
            "agents": ["oneshot"],
            "models": ["stand-in/competent", {"name": "stand-in/careless", "tokens": False}],
            "tokens": True,
            "backend": "sandbox",
            "sampling": {"append_only": True},
        }
    )
    with_tokens, without = rollouts.run(plan, tmp_path / "plan")
    assert with_tokens.path is not None
    assert without.path is not None
    found.append(with_tokens.path)
    for folder in found:
        (trace,) = traces(read_rollout(folder / "trajectory.json"))
        assert trace is not None
        assert len(trace.completion_ids) == len(trace.logprobs) > 100
        assert trace.prompt_ids
        assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["tokens"] is True
    assert traces(read_rollout(without.path / "trajectory.json")) == [None]
    config = json.loads((with_tokens.path / "config.json").read_text(encoding="utf-8"))
    assert config["sampling"]["append_only"] is True


@pytest.mark.parametrize("stream", [False, True])
def test_as_the_endpoint_tells_them(stream: bool, launcher: Launcher, tmp_path: Path) -> None:
    def whole(body: Json, _: int) -> Any:
        assert (body["logprobs"], body["return_token_ids"]) == (True, True)
        return completion(PROSE, **TOLD) | {"prompt_token_ids": [1, 2, 3]}

    def pieces(body: Json, _: int) -> Any:
        head: Json = {"id": "x", "object": "chat.completion.chunk", "model": "m"}
        first = head | {"prompt_token_ids": [1, 2, 3], "choices": [{"index": 0, "delta": {"role": "assistant"}}]}
        parts = [
            head
            | {
                "choices": [
                    {"index": 0, "delta": {"content": text}, "logprobs": {"content": [entry]}, "token_ids": [number]}
                ]
            }
            for text, entry, number in zip(("No", " program."), LOGPROBS["content"], (11, 12), strict=True)
        ]
        return [first, *parts, head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]

    with Scripted(pieces if stream else whole) as server:
        spec = ModelSpec("m", server.base_url, api_key="k", tokens=True, stream=stream)
        _, found = played(launcher, tmp_path, spec)
    assert found == [TokenTrace(prompt_ids=(1, 2, 3), completion_ids=(11, 12), logprobs=(-0.5, -1.5))]


def test_nothing_is_made_up(launcher: Launcher, tmp_path: Path) -> None:
    with Scripted(lambda *_: completion(PROSE)) as silent:  # tells nothing, though it was asked
        assert played(launcher, tmp_path, ModelSpec("m", silent.base_url, api_key="k", tokens=True))[1] == [None]
        assert "logprobs" in silent.bodies[0]
    with Scripted(lambda *_: completion(PROSE, **TOLD)) as telling:  # was not asked
        assert played(launcher, tmp_path, ModelSpec("m", telling.base_url, api_key="k"))[1] == [None]
        assert "logprobs" not in telling.bodies[0]

    def half(body: Json, _: int) -> Any:  # as OpenAI's own: probabilities, and no ids
        if "return_token_ids" in body:
            return refusal("Unrecognized request argument supplied: return_token_ids")
        return completion(PROSE, logprobs=LOGPROBS)

    with Scripted(half) as server:
        found = played(launcher, tmp_path, ModelSpec("m", server.base_url, api_key="k", tokens=True))[1]
        assert found == [TokenTrace(logprobs=(-0.5, -1.5))]
        assert (len(server.refused), len(server.bodies)) == (1, 1)

    def neither(body: Json, _: int) -> Any:  # as of models that think in secret
        if "return_token_ids" in body:
            return refusal("Unrecognized request argument supplied: return_token_ids")
        if "logprobs" in body:
            return refusal("'logprobs' is not supported with this model.", param="logprobs")
        return completion(PROSE)

    with Scripted(neither) as server:
        result, found = played(launcher, tmp_path, ModelSpec("m", server.base_url, api_key="k", tokens=True))
        assert (found, result.ended_by, len(server.refused)) == ([None], "no-program", 2)


def test_a_mask_comes_from_who_answers_alone(launcher: Launcher, tmp_path: Path) -> None:
    tokens = CompletionTokens((1,), (2, 3), (-0.1, -0.2), (1, 0))
    given = Completion(Message("assistant", "No program."), "stop", Usage(1, 2), "policy-7", tokens=tokens)
    _, found = played(launcher, tmp_path, from_function("policy", lambda *_: given))
    assert found == [TokenTrace(prompt_ids=(1,), completion_ids=(2, 3), logprobs=(-0.1, -0.2), loss_mask=(1, 0))]


def test_a_key_given_by_value_is_in_no_file(launcher: Launcher, tmp_path: Path) -> None:
    key = "sk-by-value-0123456789"

    def echoing(body: Json, number: int) -> Any:
        return (401, {"error": {"message": f"Incorrect API key provided: {key}"}}) if number else completion(PROSE)

    with Scripted(echoing) as server:
        model = ModelSpec("m", f"{server.base_url}", api_key=key)
        states = {
            launcher.run(launcher.packages[0], resolve("react"), model=model, out=tmp_path).state for _ in range(2)
        }
    assert states == {"error"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 6
    assert not any(key.encode() in path.read_bytes() for path in files)
    assert asyncio.run(_opened(model)) == "m"


async def _opened(spec: ModelSpec) -> str:
    async with spec.open() as model:
        return model.name
