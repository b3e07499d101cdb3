"""Rollouts: any there may be, and one that a model really had."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import strategies as st

from openfingym.models import Message, Tool, Usage
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.testing import StandIn
from openfingym.trajectory import RolloutRecord
from openfingym.trajectory.record import (
    Generation,
    RecordedScore,
    RunProvenance,
    RunTiming,
    StepReward,
    TokenTrace,
    ToolUse,
    Turn,
)

TOOLS = (
    Tool("run_python", "Run a program.", {"type": "object", "properties": {"code": {"type": "string"}}}),
    Tool("submit", "Submit a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
)
_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_number = st.floats(allow_nan=False, allow_infinity=False)
_positive = st.floats(0.0, 1e9)
_count = st.integers(0, 10**6)
_usage = st.builds(Usage, prompt=_count, completion=_count, cached=_count, reasoning=_count)
# Hypothesis adds the zone.
_first, _last = datetime(2000, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001
_at = st.none() | st.datetimes(_first, _last, timezones=st.just(UTC))
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _number | _text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_text, inner, max_size=2),
)


@st.composite
def _traces(draw: st.DrawFn) -> TokenTrace | None:
    n = draw(st.integers(0, 4))
    ids = draw(st.lists(_count, min_size=n, max_size=n))
    logprobs = draw(st.just([]) | st.lists(st.floats(-50, 0), min_size=n, max_size=n))
    mask = draw(st.just([]) | st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    prompt = draw(st.lists(_count, max_size=3))
    if not (n or prompt):
        return None
    return TokenTrace(
        prompt_ids=tuple(prompt), completion_ids=tuple(ids), logprobs=tuple(logprobs), loss_mask=tuple(mask)
    )


_generations = st.builds(
    Generation,
    model=_text,
    finish_reason=st.sampled_from(["stop", "length", "tool_calls", "content_filter", "refusal"]),
    usage=_usage,
    counted=st.booleans(),
    cost_usd=st.none() | _positive,
    latency_s=_positive,
    attempts=st.integers(1, 9),
    tokens=_traces(),
    call_form=st.sampled_from([None, "native", "text", "written", "block"]),
)
_arguments = st.dictionaries(_text, _json, max_size=2).map(
    lambda value: __import__("json").dumps(value)
) | st.sampled_from(["", "{", "[1]", '{"a": 1e999}', '{"a": NaN}', '{"a":1}', '{"a": 1, "a": 2}', "null"])
_uses = st.builds(
    ToolUse,
    id=st.uuids().map(str),
    name=_text,
    arguments=_arguments,
    result=st.none() | _text,
    failed=st.booleans(),
    wall_s=st.none() | _positive,
)
_assistant = st.builds(
    Turn,
    role=st.just("assistant"),
    content=_text,
    reasoning=st.none() | _text,
    tool_calls=st.lists(_uses, max_size=2).map(tuple),
    at=_at,
    generation=st.none() | _generations,
)
_other = st.builds(Turn, role=st.sampled_from(["system", "user"]), content=_text, at=_at)
_scores = st.one_of(
    st.builds(
        RecordedScore,
        state=st.just("scored"),
        total=_number,
        relative_total=_number,
        reward=_number,
        metrics=st.dictionaries(_text, _number, max_size=2),
    ),
    st.builds(RecordedScore, state=st.just("rejected"), reward=_number, reason=_text),
    st.builds(RecordedScore, state=st.sampled_from(["error", "void", "deferred"]), reason=st.none() | _text),
)


@st.composite
def rollouts(draw: st.DrawFn, *, least: int = 0) -> RolloutRecord:
    """Any rollout, of ``least`` messages or more."""
    messages = tuple(draw(st.lists(_other | _assistant, min_size=least, max_size=5)))
    score = draw(_scores)
    failed = {"rejected": "protocol", "error": "verifier"}.get(score.state, "none")
    places = st.none() | st.integers(0, len(messages) - 1) if messages else st.none()
    split = draw(st.sampled_from(["test", "train", "validation"]))
    return RolloutRecord(
        split=split,
        instance=None if split == "test" else draw(_count),
        id=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)),
        task=draw(_text),
        task_digest=draw(_text),
        data_kind=draw(st.sampled_from(["real", "simulated", "specified"])),
        seed=draw(st.integers(-5, 5)),
        agent=draw(_text),
        model=draw(st.none() | _text),
        tools=tuple(
            draw(
                st.lists(
                    st.builds(
                        Tool, name=_text, description=_text, parameters=st.dictionaries(_text, _json, max_size=2)
                    ),
                    max_size=2,
                )
            )
        ),
        messages=messages,
        rewards=tuple(
            draw(
                st.lists(
                    st.builds(StepReward, episode=_count, step=st.integers(1, 9), reward=_number, message=places),
                    max_size=3,
                )
            )
        ),
        score=score,
        failure=failed,
        timing=RunTiming(
            started_at=datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), wall_s=draw(_positive), model_s=draw(_positive)
        ),
        usage=draw(_usage),
        cost_usd=draw(st.none() | _positive),
        provenance=RunProvenance(
            prompt_sha256=draw(st.none() | _text), versions=draw(st.dictionaries(_text, _text, max_size=2))
        ),
    )


@pytest.fixture(scope="session")
def spoken() -> RolloutRecord:
    """What the competent stand-in says of a forecast, with tools, tokens and all."""

    async def conversation() -> tuple[Turn, ...]:
        messages = [Message("system", "You forecast."), Message("user", "inputs, targets = interface.load_train()")]
        turns = [Turn(role="system", content=messages[0].content), Turn(role="user", content=messages[1].content)]
        with StandIn() as stand_in:
            async with ModelEndpoint(stand_in.base_url, "none", loopback=True) as endpoint:
                model = endpoint.model("stand-in/competent", tokens=True)
                while True:
                    completion = await model.complete(messages, tools=TOOLS)
                    turn = Turn.from_completion(completion, at=datetime.now(UTC))
                    messages.append(completion.message)
                    for call in completion.message.tool_calls:
                        turn = turn.with_result(call.id, f"result of {call.name}", wall_s=0.25)
                        messages.append(Message("tool", f"result of {call.name}", tool_call_id=call.id))
                    turns.append(turn)
                    if not completion.message.tool_calls:
                        return tuple(turns)

    messages = asyncio.run(conversation())
    usages = [turn.generation.usage for turn in messages if turn.generation]
    return RolloutRecord(
        id="r-1",
        task="treasury-forecast",
        task_digest="0" * 64,
        data_kind="real",
        seed=0,
        agent="react",
        model="stand-in/competent",
        tools=TOOLS,
        messages=messages,
        score=RecordedScore(state="scored", total=0.1, relative_total=0.99, reward=-0.1, metrics={"mse": 0.01}),
        timing=RunTiming(
            started_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), wall_s=2.0, model_s=0.5, execution_s=1.0
        ),
        usage=sum(usages, Usage()),
        cost_usd=0.0,
        provenance=RunProvenance(versions={"openfingym": "0.1.0"}),
    )
