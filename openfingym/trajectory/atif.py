"""Harbor's Agent Trajectory Interchange Format (ATIF), version 1.8: writing it, and reading it back without loss.

What ATIF has a field for is in that field; all else is under ``extra``, so that :func:`from_atif` returns the rollout
that :func:`to_atif` was given. A trajectory from elsewhere has no task and no score, and is not read. A rollout without
a message cannot be written: ATIF wants at least one step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import ValidationError

from openfingym.errors import DataError
from openfingym.trajectory.record import Generation, RolloutRecord, ToolUse, Turn

VERSION = "ATIF-v1.8"
OURS = "openfingym"
"""Key under ``extra`` for all that ATIF has no field for."""
MESSAGE = "message"
"""Key beside it for what ATIF has no field for in the message itself."""
_SOURCES = {"system": "system", "user": "user", "assistant": "agent"}
_ROLES = {source: role for role, source in _SOURCES.items()}

Json = dict[str, object]


def to_atif(rollout: RolloutRecord) -> Json:
    """A rollout as an ATIF document.

    Raises:
        DataError: the rollout has no messages, and ATIF needs at least one.
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
        DataError: the document was not made by :func:`to_atif`, or was changed so that its parts contradict each other.
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
    """A message with its calls and their results, as a step of ATIF."""
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
    kept = turn.model_dump(mode="json", include={"reasoning_field", "fields"}, exclude_defaults=True)
    if kept:
        step["extra"] = {**_mapping(step.get("extra")), MESSAGE: kept}
    return step


def _call(call: ToolUse) -> Json:
    """A call as ATIF has it."""
    arguments, exact = _arguments(call.arguments)
    extra: Json = {"failed": call.failed, "wall_s": call.wall_s}
    extra |= call.model_dump(mode="json", include={"wrote", "fields"}, exclude_defaults=True)
    # ATIF has arguments as an object: the text is kept beside it where blanks, order or mistakes would be lost.
    if not exact:
        extra["arguments"] = call.arguments
    return {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments, "extra": {OURS: extra}}


def _arguments(text: str) -> tuple[Json, bool]:
    """Arguments as an object, and whether their text can be made from it again."""
    try:
        arguments = json.loads(text)
        if not isinstance(arguments, dict):
            return {}, False
        again = json.dumps(arguments, allow_nan=False)
        # JSON can state half a surrogate pair, which no file in UTF-8 can hold.
        json.dumps(arguments, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return {}, False
    return arguments, again == text


def _metrics(generation: Generation) -> Json:
    """Tokens and cost of a message, as ATIF has them."""
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
    """The message that a step was made from, as JSON."""
    turn: Json = {"role": _ROLES[str(step["source"])], "content": step["message"]}
    turn |= {"at": step.get("timestamp"), "reasoning": step.get("reasoning_content")}
    results = {
        result["source_call_id"]: result["content"]
        for result in _mappings(_mapping(step.get("observation")).get("results"))
    }
    turn["tool_calls"] = [_tool_use(call, results) for call in _mappings(step.get("tool_calls"))]
    turn |= _mapping(_mapping(step.get("extra")).get(MESSAGE))
    if "metrics" in step:
        turn["generation"] = _generation(step, _mapping(step["metrics"]))
    return turn


def _tool_use(call: Mapping[str, object], results: Mapping[object, object]) -> Json:
    """The call that a call of ATIF was made from, as JSON."""
    ours = _mapping(_mapping(call.get("extra")).get(OURS))
    # What is under ``extra`` comes last: where it has the text of the arguments, that replaces the one that is made.
    return {
        "id": call["tool_call_id"],
        "name": call["function_name"],
        "arguments": json.dumps(call["arguments"]),
        "result": results.get(call["tool_call_id"]),
        **ours,
    }


def _generation(step: Mapping[str, object], metrics: Mapping[str, object]) -> Json:
    """The generation that a step's metrics were made from, as JSON."""
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
