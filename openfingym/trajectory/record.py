"""The record of one rollout: what was said and done, what it came to, and what it took.

It is one JSON document, ``trajectory.json`` in a run's folder. Its schema is in ``docs/rollout.schema.json``, where the
docstrings of these classes are the descriptions. ``format`` counts up when a reader of the old form would misread the
new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self, cast

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, model_validator

from openfingym.models.messages import CallForm, Completion, FinishReason, Message, Tool, ToolCall, Usage
from openfingym.results import RolloutResult, State
from openfingym.results.result import Boundary

FORMAT: Literal[2] = 2
"""Version of the form. 2 added ``split`` and ``instance``; a record of format 1 is read as one of the test split."""

Split = Literal["test", "train", "validation"]
"""What a rollout was on: the task as it is, or an instance that was cut from its training data."""

Failure = Literal["none", Boundary]
"""The boundary at which a rollout failed, or ``none``."""
Seconds = Annotated[float, Field(ge=0.0)]
# Safe in a file's name: the folder of an exported trial is named after it.
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]


class RecordSection(BaseModel):
    """A part of the record: immutable, closed to keys it does not know, of finite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ToolUse(RecordSection):
    """A tool call and its result."""

    id: str
    """Identifier of the call, unique among the calls of one message."""
    name: str
    """Name of the tool, as the model wrote it unless ``wrote`` says otherwise."""
    arguments: str
    """The arguments as the model wrote them: JSON text, where the model got it right."""
    result: str | None = None
    """Text of the result that the model was told; None where it was told nothing."""
    failed: bool = False
    """Whether the call was refused, or what it ran failed."""
    wall_s: Seconds | None = None
    """Seconds from the call to its result."""
    wrote: str | None = None
    """The name as the model wrote it, where it was mended to make ``name``; None where it was not."""
    fields: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields of the call that are not read and went back with it as they came, such as signatures of thoughts."""


class TokenTrace(RecordSection):
    """The tokens of one message of the model, for training without tokenising again."""

    prompt_ids: tuple[int, ...] = ()
    """Token ids of everything that the model was given; empty where they are not known."""
    completion_ids: tuple[int, ...] = ()
    """Token ids of the message; empty where they are not known."""
    logprobs: tuple[float, ...] = ()
    """Natural logarithm of the probability of each token of the message; empty where they are not known."""
    loss_mask: tuple[Literal[0, 1], ...] = ()
    """Whether each token of the message is trained on; empty for all."""

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        lengths = {len(part) for part in (self.completion_ids, self.logprobs, self.loss_mask) if part}
        if len(lengths) > 1:
            raise ValueError(f"completion_ids, logprobs and loss_mask must be of one length, found {sorted(lengths)}")
        if not lengths and not self.prompt_ids:
            raise ValueError("a trace holds tokens; leave it out where there are none")
        return self


class Generation(RecordSection):
    """How the model came to a message, and what that took."""

    model: str
    """The model's name as the endpoint states it."""
    finish_reason: FinishReason
    """Why the message ended."""
    usage: Usage
    """Tokens of the request and of the message."""
    counted: bool = True
    """Whether the endpoint counted the tokens; if not, they are estimated."""
    cost_usd: Annotated[float, Field(ge=0.0)] | None = None
    """US dollars of the request and the message; None where no price is known."""
    latency_s: Seconds = 0.0
    """Seconds from sending the request that was answered to the end of the answer."""
    attempts: Annotated[int, Field(ge=1)] = 1
    """Requests that were sent, the failed ones included."""
    tokens: TokenTrace | None = None
    """The message's tokens; None where they were not asked for, or the endpoint does not tell them."""
    call_form: CallForm | None = None
    """How tools were offered and called; None where none were offered. With ``text`` and ``written``, the calls are
    taken out of the content; with ``block``, the program that was run is in it."""


class Turn(RecordSection):
    """A message, with the calls it makes and their results."""

    role: Literal["system", "user", "assistant"]
    content: str = ""
    reasoning: str | None = None
    """What a reasoning model thought, where its endpoint shows it."""
    reasoning_field: str | None = None
    """Name of the field that the reasoning came in and goes back in; None where it came in none."""
    fields: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields of the model's answer that are not read and went back with it as they came."""
    tool_calls: tuple[ToolUse, ...] = ()
    at: AwareDatetime | None = None
    """When the message was there, with its time zone; None where that is not known."""
    generation: Generation | None = None
    """How the model came to the message; None for a message that no model wrote."""

    @model_validator(mode="after")
    def _roles(self) -> Self:
        if self.role != "assistant" and (
            self.reasoning is not None or self.tool_calls or self.generation or self.fields
        ):
            raise ValueError(
                f"a message of role {self.role!r} has no reasoning, tool_calls, fields or generation: only the "
                "assistant's have"
            )
        if len({call.id for call in self.tool_calls}) < len(self.tool_calls):
            raise ValueError("two tool calls of one message have the same id")
        return self

    @classmethod
    def from_completion(cls, completion: Completion, *, at: AwareDatetime | None = None) -> Self:
        """The message of a model's answer, with its calls and no results yet."""
        tokens = completion.tokens
        trace = None
        if tokens and (tokens.prompt_ids or tokens.completion_ids or tokens.logprobs):
            trace = TokenTrace(
                prompt_ids=tokens.prompt_ids,
                completion_ids=tokens.completion_ids,
                logprobs=tokens.logprobs,
                loss_mask=tokens.loss_mask,
            )
        return cls(
            role="assistant",
            content=completion.message.content,
            reasoning=completion.message.reasoning,
            reasoning_field=completion.message.reasoning_field,
            fields=_json(completion.message.fields),
            tool_calls=tuple(
                ToolUse(
                    id=call.id, name=call.name, arguments=call.arguments, wrote=call.wrote, fields=_json(call.fields)
                )
                for call in completion.message.tool_calls
            ),
            at=at,
            generation=Generation(
                model=completion.model,
                finish_reason=completion.finish_reason,
                usage=completion.usage,
                counted=completion.counted,
                cost_usd=completion.cost_usd,
                latency_s=completion.latency_s,
                attempts=completion.attempts,
                tokens=trace,
                call_form=completion.call_form,
            ),
        )

    def called_by_block(self) -> Self:
        """The message, marked as one that called no tool, and of which a code block was run."""
        assert self.generation is not None, "a model wrote it"
        return self.model_copy(update={"generation": self.generation.model_copy(update={"call_form": "block"})})

    def with_result(self, call_id: str, result: str, *, failed: bool = False, wall_s: float | None = None) -> Self:
        """The message with the result of one of its calls."""
        update = {"result": result, "failed": failed, "wall_s": wall_s}
        calls = tuple(call.model_copy(update=update) if call.id == call_id else call for call in self.tool_calls)
        return self.model_copy(update={"tool_calls": calls})


class StepReward(RecordSection):
    """The reward of one step of a sequential task that the agent took itself."""

    episode: Annotated[int, Field(ge=0)]
    """Position of the episode among the private ones, from 0."""
    step: Annotated[int, Field(ge=1)]
    """Number of the step in its episode, from 1."""
    reward: float
    message: Annotated[int, Field(ge=0)] | None = None
    """Position of the message that acted; None where no message did."""


class RecordedScore(RecordSection):
    """What the rollout came to, by the verifier."""

    state: State
    total: float | None = None
    """The source paper's loss on the private fold, lower is better; None without a score."""
    relative_total: float | None = None
    """The total relative to the baseline's, which is 1; lower is better."""
    reward: float | None = None
    """The reward ``loss``, higher is better; None where the rollout ended through no fault of the agent's."""
    reason: str | None = None
    """Why the rollout was rejected, or what failed."""
    metrics: dict[str, float] = Field(default_factory=dict)
    """Value of each metric on the private fold, by its name."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.state == "scored" and self.total is None:
            raise ValueError("what is scored has a total")
        if (self.reward is None) != (self.state in {"error", "void", "deferred"}):
            raise ValueError("scored and rejected rollouts have a reward, and no others")
        return self

    @classmethod
    def from_result(cls, result: RolloutResult) -> Self:
        """The score of a result, with its reward ``loss``."""
        return cls(
            state=result.state,
            total=result.total,
            relative_total=result.relative_total,
            reward=result.reward() if result.state in {"scored", "rejected"} else None,
            reason=result.reason,
            metrics=result.metrics,
        )


class RunTiming(RecordSection):
    """When it happened and where the time went."""

    started_at: AwareDatetime
    wall_s: Seconds
    """Seconds that the agent took, of which ``model_s`` and ``execution_s`` are parts."""
    verifier_s: Seconds | None = None
    """Seconds that the verifier took; None where it is not stated, and ``wall_s`` holds both."""
    model_s: Seconds = 0.0
    """Seconds of waiting for the model."""
    execution_s: Seconds = 0.0
    """Seconds for which the agent's code ran."""


class RunProvenance(RecordSection):
    """What must be the same for the rollout to be the same."""

    prompt_sha256: str | None = None
    """SHA-256 of the agent's system message, in which the task's instruction is not; None without one."""
    code_sha256: str | None = None
    """SHA-256 of the program that ran last; None where none ran."""
    backend: str | None = None
    """How the agent's programs were isolated."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of openfingym, Python, and other packages that took part, by name."""


class RolloutRecord(RecordSection):
    """One rollout, from the first message to the score."""

    format: Literal[2] = FORMAT
    id: Identifier
    task: str
    task_digest: str
    data_kind: str
    """``real``, ``simulated`` or ``specified``; results of unlike kinds are not compared."""
    split: Split = "test"
    instance: Annotated[int, Field(ge=0)] | None = None
    """Index of the instance in its split; None for the task as it is."""
    seed: int
    agent: str
    model: str | None = None
    """Name of the model, as it was asked for; None where no model took part."""
    tools: tuple[Tool, ...] = ()
    """Tools that the model was offered."""
    messages: tuple[Turn, ...] = ()
    rewritten: Annotated[int, Field(ge=0)] | None = None
    """Requests to the model that did not begin with the one before and its answer: 0 where the conversation only grew.
    None where no model was asked, or nobody counted."""
    rewards: tuple[StepReward, ...] = ()
    """Rewards of steps that the agent took itself; those of steps that its programs took are not recorded."""
    score: RecordedScore
    failure: Failure = "none"
    timing: RunTiming
    usage: Usage = Field(default_factory=Usage)
    """Tokens of all messages together."""
    cost_usd: Annotated[float, Field(ge=0.0)] | None = None
    """US dollars of all messages together; None where a part of it is not known."""
    provenance: RunProvenance = Field(default_factory=RunProvenance)

    @model_validator(mode="before")
    @classmethod
    def _upgraded(cls, document: object) -> object:
        # A record of format 1 knows no splits, and its defaults are right; one that has them is not of format 1.
        if isinstance(document, dict) and document.get("format") == 1 and not {"split", "instance"} & document.keys():
            return document | {"format": FORMAT}
        return document

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.split == "test") != (self.instance is None):
            raise ValueError(f"a rollout of split {self.split!r} has instance {self.instance!r}")
        failed = self.score.state in {"rejected", "error"}
        if self.score.state != "void" and failed != (self.failure != "none"):
            raise ValueError(f"failure is {self.failure!r} for a rollout that is {self.score.state}")
        if any(reward.message is not None and reward.message >= len(self.messages) for reward in self.rewards):
            raise ValueError("a reward belongs to a message that is not there")
        return self

    def conversation(self) -> tuple[Message, ...]:
        """The messages as a model is given them: one after the other, with results as messages of their own."""
        return tuple(_with_results_apart(self.messages))


def _json(fields: Mapping[str, object]) -> dict[str, JsonValue]:
    """Fields that were read from JSON, typed as such."""
    return cast("dict[str, JsonValue]", dict(fields))


def _with_results_apart(turns: tuple[Turn, ...]) -> Iterator[Message]:
    for turn in turns:
        calls = tuple(
            ToolCall(call.id, call.name, call.arguments, wrote=call.wrote, fields=call.fields)
            for call in turn.tool_calls
        )
        yield Message(
            turn.role,
            turn.content,
            calls,
            reasoning=turn.reasoning,
            reasoning_field=turn.reasoning_field,
            fields=turn.fields,
        )
        for call in turn.tool_calls:
            if call.result is not None:
                yield Message("tool", call.result, tool_call_id=call.id)
