"""Harbor's Agent Trajectory Interchange Format (ATIF), version 1.8: out and back.

What ATIF has a field for is in that field; all else is under ``extra``, so that :func:`from_atif` gives
back what :func:`to_atif` was given. A trajectory of other origin has no task and no score, and is not
read. A rollout without a message cannot be written: ATIF wants at least one step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import ValidationError

from openfingym.errors import DataError
from openfingym.trajectory.record import Generation, RolloutRecord, ToolUse, Turn

VERSION = "ATIF-v1.8"
OURS = "openfingym"
"""Key under ``extra`` of what is not ATIF's."""
_SOURCES = {"system": "system", "user": "user", "assistant": "agent"}
_ROLES = {source: role for role, source in _SOURCES.items()}

Json = dict[str, object]


def to_atif(rollout: RolloutRecord) -> Json:
    """A rollout as an ATIF document.

    Raises:
        DataError: the rollout has no messages, and ATIF needs one at least.
    """
    if not rollout.messages:
        raise DataError(f"rollout {rollout.id} has no messages, and an ATIF trajectory has at least one step")
    agent: Json = {"name": rollout.agent, "version": rollout.provenance.versions.get("openfingym", "unknown")}
    if rollout.model is not None:
        agent["model_name"] = rollout.model
    if rollout.tools:
        agent["tool_definitions"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in rollout.tools
        ]
    totals: Json = {
        "total_prompt_tokens": rollout.usage.prompt,
        "total_completion_tokens": rollout.usage.completion,
        "total_cached_tokens": rollout.usage.cached,
        "total_steps": len(rollout.messages),
    }
    if rollout.cost_usd is not None:
        totals["total_cost_usd"] = rollout.cost_usd
    return {
        "schema_version": VERSION,
        "session_id": rollout.id,
        "trajectory_id": rollout.id,
        "agent": agent,
        "steps": [_step(number, turn) for number, turn in enumerate(rollout.messages, 1)],
        "final_metrics": totals,
        "extra": {OURS: rollout.model_dump(mode="json", exclude={"id", "agent", "model", "tools", "messages"})},
    }


def from_atif(document: Mapping[str, object]) -> RolloutRecord:
    """The rollout that an ATIF document was made from.

    Raises:
        DataError: it was not made by :func:`to_atif`, or was changed so that it holds together no more.
    """
    try:
        agent = _mapping(document["agent"])
        ours = _mapping(_mapping(document.get("extra"))[OURS])
        steps = document["steps"]
        if not isinstance(steps, list):
            raise TypeError("steps is no list")
        tools = agent.get("tool_definitions") or []
        return RolloutRecord.model_validate_json(
            json.dumps(
                {
                    **ours,
                    "id": document["trajectory_id"],
                    "agent": agent["name"],
                    "model": agent.get("model_name"),
                    "tools": [_mapping(tool)["function"] for tool in tools] if isinstance(tools, list) else [],
                    "messages": [_turn(_mapping(step)) for step in steps],
                }
            )
        )
    except KeyError as error:
        raise DataError(
            f"the ATIF trajectory has no {error.args[0]!r}; only those written by openfingym hold a task and a score"
        ) from None
    except (TypeError, ValueError, ValidationError) as error:
        raise DataError(f"not an ATIF trajectory of a rollout ({error})") from error


def _step(number: int, turn: Turn) -> Json:
    step: Json = {"step_id": number, "source": _SOURCES[turn.role], "message": turn.content}
    if turn.at is not None:
        step["timestamp"] = turn.at.isoformat()
    if turn.reasoning is not None:
        step["reasoning_content"] = turn.reasoning
    if turn.tool_calls:
        step["tool_calls"] = [_call(call) for call in turn.tool_calls]
    results = [
        {"source_call_id": call.id, "content": call.result} for call in turn.tool_calls if call.result is not None
    ]
    if results:
        step["observation"] = {"results": results}
    if turn.generation is not None:
        step["model_name"] = turn.generation.model
        step["llm_call_count"] = 1
        step["metrics"] = _metrics(turn.generation)
        step["extra"] = {
            OURS: turn.generation.model_dump(mode="json", exclude={"model", "usage", "cost_usd", "tokens"})
        }
    return step


def _call(call: ToolUse) -> Json:
    arguments, exact = _arguments(call.arguments)
    extra: Json = {"failed": call.failed, "wall_s": call.wall_s}
    if not exact:
        extra["arguments"] = call.arguments
    return {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments, "extra": {OURS: extra}}


def _arguments(text: str) -> tuple[Json, bool]:
    """Arguments as an object, and whether their text can be had back from it."""
    try:
        found = json.loads(text)
        if not isinstance(found, dict):
            return {}, False
        again = json.dumps(found, allow_nan=False)
        json.dumps(found, ensure_ascii=False).encode()  # JSON can state what no file can hold: half a surrogate pair
    except (ValueError, RecursionError):
        return {}, False
    return found, again == text


def _metrics(generation: Generation) -> Json:
    usage, tokens = generation.usage, generation.tokens
    metrics: Json = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "cached_tokens": usage.cached,
    }
    if generation.cost_usd is not None:
        metrics["cost_usd"] = generation.cost_usd
    ours: Json = {"reasoning_tokens": usage.reasoning}
    if tokens is not None:
        named = {
            "prompt_token_ids": tokens.prompt_ids,
            "completion_token_ids": tokens.completion_ids,
            "logprobs": tokens.logprobs,
        }
        metrics |= {name: list(values) for name, values in named.items() if values}
        ours["loss_mask"] = list(tokens.loss_mask)
    return metrics | {"extra": {OURS: ours}}


def _turn(step: Mapping[str, object]) -> Json:
    turn: Json = {"role": _ROLES[str(step["source"])], "content": step["message"]}
    turn |= {"at": step.get("timestamp"), "reasoning": step.get("reasoning_content")}
    results = {
        result["source_call_id"]: result["content"]
        for result in _mappings(_mapping(step.get("observation")).get("results"))
    }
    turn["tool_calls"] = [_tool_use(call, results) for call in _mappings(step.get("tool_calls"))]
    if "metrics" in step:
        turn["generation"] = _generation(step, _mapping(step["metrics"]))
    return turn


def _tool_use(call: Mapping[str, object], results: Mapping[object, object]) -> Json:
    ours = _mapping(_mapping(call.get("extra")).get(OURS))
    return {
        "id": call["tool_call_id"],
        "name": call["function_name"],
        "arguments": json.dumps(call["arguments"]),
        "result": results.get(call["tool_call_id"]),
        **ours,
    }


def _generation(step: Mapping[str, object], metrics: Mapping[str, object]) -> Json:
    ours = _mapping(_mapping(metrics.get("extra")).get(OURS))
    tokens = {
        "prompt_ids": metrics.get("prompt_token_ids") or [],
        "completion_ids": metrics.get("completion_token_ids") or [],
        "logprobs": metrics.get("logprobs") or [],
        "loss_mask": ours.get("loss_mask") or [],
    }
    return {
        "model": step["model_name"],
        "usage": {
            "prompt": metrics["prompt_tokens"],
            "completion": metrics["completion_tokens"],
            "cached": metrics["cached_tokens"],
            "reasoning": ours["reasoning_tokens"],
        },
        "cost_usd": metrics.get("cost_usd"),
        "tokens": tokens if any(tokens.values()) else None,
        **_mapping(_mapping(step.get("extra")).get(OURS)),
    }


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [_mapping(item) for item in value] if isinstance(value, list) else []
