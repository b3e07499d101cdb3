"""The record of one rollout: what was said and done, what it came to, and what it took.

One JSON document, ``trajectory.json`` in a run's folder. Its schema is in ``docs/rollout.schema.json``; ``format``
counts up when a reader of the old form would misread the new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from openfingym.models.messages import CallForm, Completion, FinishReason, Message, Tool, ToolCall, Usage
from openfingym.results import Boundary, RolloutResult, State

FORMAT: Literal[2] = 2
"""2 added ``split`` and ``instance``; a record of format 1 is read as one of the test split."""

Split = Literal["test", "train", "validation"]
"""What was asked for: the task as it is, or an instance that was cut from its training data."""

Failure = Literal["none", Boundary]
"""The boundary at which a rollout failed, if it did."""
Seconds = Annotated[float, Field(ge=0.0)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]


class RecordSection(BaseModel):
    """A part of the record: immutable, closed to keys it does not know, of finite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ToolUse(RecordSection):
    """A tool call and its result."""

    id: str
    """Unique among the calls of one message."""
    name: str
    arguments: str
    """As the model wrote them: JSON text, where the model got it right."""
    result: str | None = None
    """What the model was told; None where it was told nothing."""
    failed: bool = False
    """Whether the call was refused, or what it ran failed."""
    wall_s: Seconds | None = None
    """Seconds from the call to its result."""


class TokenTrace(RecordSection):
    """The tokens of one message of the model, for training without tokenising again."""

    prompt_ids: tuple[int, ...] = ()
    """Of everything the model was given."""
    completion_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    """Natural logarithm of the probability that each completion token had."""
    loss_mask: tuple[Literal[0, 1], ...] = ()
    """Which completion tokens are trained on; empty for all."""

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
    """As the endpoint calls it."""
    finish_reason: FinishReason
    usage: Usage
    counted: bool = True
    """Whether the endpoint counted the tokens."""
    cost_usd: Annotated[float, Field(ge=0.0)] | None = None
    """None where no price is known."""
    latency_s: Seconds = 0.0
    attempts: Annotated[int, Field(ge=1)] = 1
    tokens: TokenTrace | None = None
    call_form: CallForm | None = None
    """How tools were offered and called; None where none were offered. Of ``text`` and ``written``, the calls are taken
    out of the content; of ``block``, the program that was run is in it."""


class Turn(RecordSection):
    """A message, with the calls it makes and their results."""

    role: Literal["system", "user", "assistant"]
    content: str = ""
    reasoning: str | None = None
    """What a reasoning model thought, where its endpoint shows it."""
    tool_calls: tuple[ToolUse, ...] = ()
    at: AwareDatetime | None = None
    generation: Generation | None = None

    @model_validator(mode="after")
    def _roles(self) -> Self:
        if self.role != "assistant" and (self.reasoning is not None or self.tool_calls or self.generation):
            raise ValueError(
                f"a message of role {self.role!r} has no reasoning, tool_calls or generation: only the assistant's have"
            )
        if len({call.id for call in self.tool_calls}) < len(self.tool_calls):
            raise ValueError("two tool calls of one message have the same id")
        return self

    @classmethod
    def from_completion(cls, completion: Completion, *, at: AwareDatetime | None = None) -> Self:
        """The message of a model's answer, its calls as yet without results."""
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
            tool_calls=tuple(
                ToolUse(id=call.id, name=call.name, arguments=call.arguments) for call in completion.message.tool_calls
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
        """The message of a model whose program was run although it called no tool."""
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
    step: Annotated[int, Field(ge=1)]
    reward: float
    message: Annotated[int, Field(ge=0)] | None = None
    """Index of the message that acted; None where none did, as of a command without a model."""


class RecordedScore(RecordSection):
    """What the rollout came to, by the verifier."""

    state: State
    total: float | None = None
    """The source paper's loss on the private fold; lower is better."""
    relative_total: float | None = None
    """Relative to the baseline, which is 1; lower is better."""
    reward: float | None = None
    """Higher is better; None where the rollout ended for no fault of the agent, which is never a reward."""
    reason: str | None = None
    """Why it was rejected, or what failed."""
    metrics: dict[str, float] = Field(default_factory=dict)

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
    """Time of the agent, which ``model_s`` and ``execution_s`` are parts of."""
    verifier_s: Seconds | None = None
    """Time of the verifier; None where it is not stated, and ``wall_s`` holds both."""
    model_s: Seconds = 0.0
    """Waiting for the model."""
    execution_s: Seconds = 0.0
    """Running the agent's code."""


class RunProvenance(RecordSection):
    """What must be the same for the rollout to be the same."""

    prompt_sha256: str | None = None
    """Of the agent's own prompts, without the task's instruction."""
    code_sha256: str | None = None
    """Of the program that made the last submission."""
    backend: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    """Of openfingym, Python, and whatever else took part."""


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
    """As it was asked for; None where no model took part."""
    tools: tuple[Tool, ...] = ()
    """Tools that the model was offered."""
    messages: tuple[Turn, ...] = ()
    rewritten: Annotated[int, Field(ge=0)] | None = None
    """Requests to the model that did not begin with the one before and its answer: 0 of a conversation that only grew.
    None where no model was asked, or nobody counted."""
    rewards: tuple[StepReward, ...] = ()
    """Of steps that the agent took itself; those of a program that it wrote are the program's."""
    score: RecordedScore
    failure: Failure = "none"
    timing: RunTiming
    usage: Usage = Field(default_factory=Usage)
    cost_usd: Annotated[float, Field(ge=0.0)] | None = None
    """None where a part of it is not known."""
    provenance: RunProvenance = Field(default_factory=RunProvenance)

    @model_validator(mode="before")
    @classmethod
    def _upgraded(cls, document: object) -> object:
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
        """The messages as a model was given them: one after the other, results as messages of their own."""
        return tuple(_flat(self.messages))


def _flat(turns: tuple[Turn, ...]) -> Iterator[Message]:
    for turn in turns:
        calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in turn.tool_calls)
        yield Message(turn.role, turn.content, calls, reasoning=turn.reasoning)
        for call in turn.tool_calls:
            if call.result is not None:
                yield Message("tool", call.result, tool_call_id=call.id)
