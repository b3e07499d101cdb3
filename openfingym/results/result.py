"""The result of one rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

from openfingym.errors import StoreError

State = Literal["scored", "rejected", "deferred", "void", "error"]
"""How a rollout ended. ``scored``: the verifier has a final score. ``rejected``: the agent's fault. ``deferred``: a
final result will come, once its questions are resolved or its season is closed. ``void``: too few of its questions were
ever resolved. ``error``: a failure of ours, which is never averaged in as a score."""

Boundary = Literal["agent", "model", "protocol", "sandbox", "verifier"]
"""Which part failed. ``agent``: what the agent did, or did not do. ``model``: the model refused; of an error, its
endpoint did not answer. ``protocol``: the model's answers were empty, endless, or neither a program nor a call.
``sandbox`` and ``verifier``: failures of ours."""

Isolation = Literal["inside", "programs inside", "model inside", "none", "outside"]
"""What of an agent ran in isolation, as its launcher states it; no verifier can know it. ``inside``: all of it, as a
program or a command in the container or sandbox. ``programs inside``: a loop of this library ran on the host, and
whatever programs its model wrote ran inside. ``model inside``: an agent's own loop ran inside, and asked its model
through the gate. ``none``: a program of this library ran without isolation, as with the backend ``inline``.
``outside``: code that is not this library's had the rights of the user, and could read whatever the user can: a
``command``, a loop of an installed package, a model that is an object of the caller's, or the caller of an environment.
The oracle counts as such, which reads the hidden data."""

ISOLATION_IN_WORDS: Mapping[Isolation | None, str] = {
    "inside": "all of the agent",
    "programs inside": "the agent's programs; its loop, which is this library's, ran on the host",
    "model inside": "the agent with its loop, which asked its model through the gate",
    "none": "nothing; the program is this library's",
    "outside": "not all of the agent: some of it had the rights of whoever launched it, and could read hidden data",
    None: "not known",
}
"""What ran in isolation, in words, by what a result states of it."""
ISOLATED: frozenset[Isolation | None] = frozenset({"inside", "programs inside", "model inside"})
"""What is stated of an agent whose programs, at least, ran in isolation, with no loop but ours."""
LEAST_ISOLATED: tuple[Isolation | None, ...] = ("outside", None, "none", "programs inside", "model inside", "inside")
"""What may be stated of what ran in isolation, the least first."""

Verdict = Literal["better", "worse", "no difference"]
"""The verdict on an answer beside its task's baseline."""

FORMAT = 2
"""Version of the form of ``result.json``; a reader refuses a later one than its own."""
EVEN = 1e-9
"""Distance from 1 up to which a relative total is that of the baseline's own answer, apart from rounding."""
INTERVALS = ("relative_interval", "total_interval")
"""Fields with the two ends of an interval."""
GRPO_LOSS_CAP = 5.0
"""Loss above which the reward ``grpo`` does not fall any further."""
GRPO_FAILURE = -6.0
"""Reward ``grpo`` of a failure of the agent, which is below that of every answer."""
LOSS_CAP = 99.0
"""Loss above which the rewards ``loss`` and ``relative`` do not fall any further."""
LOSS_FAILURE = -100.0
"""Rewards ``loss`` and ``relative`` of a failure of the agent, which are below those of every answer."""

PolicyName = Literal["local", "strict"]
"""How much a verifier discloses of hidden data: ``local`` everything, to the user on whose machine the labels are;
``strict`` a limited amount to each participant in each season."""

Disclosure = Literal["full", "rounded", "held"]
"""How much of a private result was disclosed: all of it, no finer than its sampling error, or nothing before the season
is closed."""

SeasonKind = Literal["sealed", "disclosing"]
"""When a season tells its participants of the private fold: ``sealed`` nothing before it is closed, ``disclosing`` a
few rungs of one ladder for all parties together."""

TapeKind = Literal["given", "fresh", "twin"]
"""Which hidden data a rollout has: the package's own, data drawn for it, or bars resampled from real ones
(openfingym.packages.tapes)."""
TapePolicy = Literal["given", "fresh"]
"""Which hidden data a verifier gives a rollout that does not ask for either: the package's own, or data of its own
where the task can have any."""

SplitName = Literal["test", "train", "validation"]
"""What a rollout was on: the task as it is, or an instance, cut from its training data (openfingym.instances)."""

RewardName = Literal["loss", "grpo", "relative"]
"""Name of a transform from a result to a reward; see :meth:`RolloutResult.reward`."""


@dataclass(frozen=True)
class RolloutResult:
    """How one rollout ended."""

    rollout_id: str
    task: str
    """Name of the task."""
    task_digest: str
    """SHA-256 of the build of the task that was scored, in hex."""
    data_kind: str
    """Kind of the task's data: ``real``, ``simulated`` or ``specified``, and with hindsight where its tools looked
    ahead."""
    agent: str
    """Name of the agent."""
    backend: str
    """How the agent's programs were isolated: ``docker``, ``sandbox`` or ``inline``; ``host`` where none was run."""
    seed: int
    """Seed that the agent's programs were given."""
    state: State
    reason: str | None = None
    """Why it was rejected, or what failed; None where it was scored."""
    total: float | None = None
    """The source paper's weighted loss on the private fold; lower is better."""
    relative_total: float | None = None
    """Weighted geometric mean of each metric's loss over the baseline's: lower is better, 1 is the baseline. Agents are
    ranked by it."""
    relative_interval: tuple[float, float] | None = None
    """95 % interval of the relative total, paired with the baseline: what other hidden rows of the same market would
    have given. None where nothing can be said."""
    total_interval: tuple[float, float] | None = None
    """95 % interval of the total; None where nothing can be said."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Each metric on the private fold, in its own direction."""
    standard_errors: dict[str, float] = field(default_factory=dict)
    """Standard error of each metric, in its unit; metrics whose error is not known are left out."""
    baseline: str | None = None
    """Name of the baseline: ``naive``, ``gaussian``, ``random`` or ``buy-and-hold``."""
    baseline_total: float | None = None
    """The paper's loss of the baseline on the same fold."""
    baseline_metrics: dict[str, float] = field(default_factory=dict)
    """Each metric of the baseline on the same fold."""
    direction: Literal["lower"] = "lower"
    """Which totals are better; the same in every task, and stated for readers of the JSON alone."""
    submissions_accepted: int = 0
    """Number of accepted submissions; of a sequential task, private episodes begun."""
    submissions_rejected: int = 0
    """Number of refused submissions; of a sequential task, actions refused."""
    budget: int = 0
    """Submissions that could be accepted; of a sequential task, its private episodes."""
    flags: tuple[str, ...] = ()
    """What the verifier noticed, such as ``probing``."""
    policy: PolicyName | None = None
    """The verifier's policy under which the score was disclosed; None where the verifier has not stated one."""
    season: str | None = None
    """Season of the verifier in which the rollout was begun."""
    disclosure: Disclosure | None = None
    """How much of the verifier's result this is. ``held``: the state is ``deferred`` until the season is closed."""
    ended_by: str | None = None
    """How the program ended: exit, timeout, memory, output, cancelled; of an agent that ran many, how it ended
    (:data:`openfingym.agents.llm.ending.EndName`)."""
    exit_code: int | None = None
    """Exit status of the program; None where there was not exactly one."""
    wall_s: float = 0.0
    """Seconds that the agent took: without the start of what it ran in, and without waiting for the verifier."""
    verifier_s: float | None = None
    """Seconds that the verifier took, for what the agent asked of it and for the final score; None of runs that do not
    state it, whose ``wall_s`` holds both."""
    started_at: str = ""
    """When the rollout was begun, in ISO 8601 and UTC; empty where that is not known."""
    model: str | None = None
    """Language model that acted; None for a program."""
    attempt: int = 0
    """Counts repetitions with the same task, agent, model and seed, from 0."""
    boundary: Boundary | None = None
    """Where a rollout without a score failed; None where it was scored."""
    told: bool = False
    """For an ``error``: whether the agent was answered anything that follows from hidden data, so that it is not run
    again."""
    turns: int = 0
    """Number of completions that the model was asked for."""
    prompt_tokens: int = 0
    """Input tokens of all completions together, cached ones included."""
    completion_tokens: int = 0
    """Output tokens of all completions together, reasoning included."""
    cost_usd: float | None = None
    """US dollars that the completions cost; None where no price is known."""
    tape: TapeKind = "given"
    """Which hidden data it was scored on, as was the baseline: the package's own, ``fresh`` or a ``twin``
    (openfingym.packages.tapes)."""
    split: SplitName = "test"
    """Whether it was on the task as it is; a result of another split is of a training instance, and no score."""
    instance: int | None = None
    """Which instance of the split; None on the task as it is."""
    session: dict[str, str | int | bool | None] | None = None
    """The live session that its private episode was, as the verifier states it; None where it had none."""
    questions: dict[str, str | int | bool] | str | None = None
    """The questions that it was asked in place of the package's private ones, as the verifier states them: their clock,
    and how many were asked, are scored, void and open. A text such as ``1-10``: a slice of the package's own questions,
    on which it and the baseline were scored; it is compared with scores on the same slice alone. None where it was
    asked all of the package's own."""
    resumed: int = 0
    """How often a launcher went on, at the next question, from where an earlier one had died; what was said before that
    is not in its trajectory, but what it cost is counted."""
    principal: str | None = None
    """Whose rollout it is, as the verifier states it: ``local``, ``operator``, or a participant's name; None of results
    of earlier versions. Reports believe it only if a receipt backs it."""
    agent_digest: str | None = None
    """Hex digest of the agent, its model and its limits, without its seed: which program it was; None where that is not
    known."""
    shown_before: int = 0
    """In how many earlier rollouts the same hidden data were shown to its principal, as the verifier states it."""
    replayed: bool = False
    """Whether its agent came into being after its principal was first shown the hidden data, as far as the verifier
    knows: it may know them, and is not ranked. Never under the local policy."""
    isolation: Isolation | None = None
    """What of the agent ran in isolation, as the launcher states it (:data:`Isolation`); None where that is not known,
    as of results of earlier versions, which do not count as isolated."""
    log_head: str | None = None
    """Hash of the verifier's log when the rollout was finalized."""
    format: int = FORMAT
    """Version of the form of ``result.json`` in which it was written."""
    path: Path | None = None
    """Folder of the result on disk, if it was written."""

    @property
    def skill(self) -> float | None:
        """1 minus the relative total: 0 is no better than the baseline, and 0.99 is the most that can be reached."""
        return None if self.relative_total is None else 1.0 - self.relative_total

    @property
    def skill_interval(self) -> tuple[float, float] | None:
        """95 % interval of the skill; None without one of the relative total."""
        if self.relative_interval is None:
            return None
        low, high = self.relative_interval
        return 1.0 - high, 1.0 - low

    @property
    def verdict(self) -> Verdict | None:
        """Whether it beats the baseline beyond the sampling error of the hidden rows; None without an interval."""
        if self.relative_interval is None:
            return None
        low, high = self.relative_interval
        # The baseline's own answer has the interval [1, 1] but for rounding, and must be neither better nor worse.
        return "better" if high < 1.0 - EVEN else "worse" if low > 1.0 + EVEN else "no difference"

    @property
    def may_know(self) -> bool:
        """Whether its agent may have known the hidden data from an earlier rollout, so that it is not ranked.

        So it is where the verifier says so, and where something ran outside isolation that may remember them.
        """
        remembers = self.policy == "strict" and self.shown_before > 0 and self.isolation not in ISOLATED
        return self.replayed or remembers

    @property
    def agent_label(self) -> str:
        """The agent's name as tables show it: with a mark where something of it ran outside isolation."""
        return f"{self.agent} (outside)" if self.isolation == "outside" else self.agent

    @property
    def slice(self) -> str | None:
        """Which of its task's questions it was asked, such as ``1-10``; None where it was not asked a slice."""
        return self.questions if isinstance(self.questions, str) else None

    def reward(self, name: RewardName = "loss") -> float:
        """The training reward of this rollout; higher is better, always finite. Reports mean another figure by reward:
        the paper's, of scored rollouts alone (:func:`openfingym.reports.cells.paper_reward`).

        Args:
            name: the transform. ``grpo`` is the paper's (appendix B): -min(loss, 5), and -6 for a failure of the agent.
                ``loss`` is -min(loss, 99), and -100 for a failure of the agent. ``relative`` is the same of the
                relative total in place of the loss, which has the same scale in every task.

        Raises:
            StoreError: the rollout ended in an error of ours, which has no reward, or its result is deferred or void.
        """
        # A failure of ours says nothing of the agent: a trainer that learned from it would learn from noise.
        if self.state in {"error", "void", "deferred"}:
            raise StoreError(
                f"rollout {self.rollout_id} has no reward, its state is {self.state!r}: "
                f"{self.reason or 'not resolved yet'}"
            )
        cap, failure = (GRPO_LOSS_CAP, GRPO_FAILURE) if name == "grpo" else (LOSS_CAP, LOSS_FAILURE)
        loss = self.relative_total if name == "relative" else self.total
        return failure if loss is None else -min(loss, cap)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from openfingym.results.notebook import result_html

        return result_html(self)

    def to_dict(self) -> dict[str, object]:
        """Plain values, as ``result.json`` and ``--json`` show them."""
        data = asdict(self)
        data["flags"] = list(self.flags)
        data["path"] = str(self.path) if self.path else None
        # Skill, verdict and reward follow from the other fields: they are written for readers of the JSON, and
        # from_dict() computes them again instead of believing them.
        data["skill"] = self.skill
        data["verdict"] = self.verdict
        for name in INTERVALS:
            data[name] = None if data[name] is None else list(data[name])
        data["reward"] = self.reward() if self.state in {"scored", "rejected"} else None
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> RolloutResult:
        """Make a result of the values that :meth:`to_dict` gives; their types are checked by
        :func:`openfingym.results.faults.fault_of`.

        Args:
            data: the values by name; names that are no fields, as those of a later version, are left out.

        Raises:
            KeyError: ``flags`` is missing.
            TypeError: another field without a default is missing, or a value is no list where one is expected.
        """
        values = dict(data)
        for name in values.keys() - _FIELDS:
            del values[name]
        values["flags"] = _as_tuple("flags", values["flags"])
        for name in INTERVALS:
            if values.get(name) is not None:
                values[name] = _as_tuple(name, values[name])
        path = values.get("path")
        values["path"] = (path if isinstance(path, Path) else Path(str(path))) if path else None
        if missing := _REQUIRED - values.keys():
            raise TypeError(f"its {min(missing)} is missing")
        for name in _MADE - values.keys():
            values[name] = {}
        result = object.__new__(cls)
        # The generated constructor sets frozen fields one by one, which takes longer than to read the file.
        vars(result).update(_DEFAULTS)
        vars(result).update(values)
        return result


_FIELDS = RolloutResult.__dataclass_fields__.keys()
_DEFAULTS = {field.name: field.default for field in fields(RolloutResult) if field.default is not MISSING}
_MADE = {field.name for field in fields(RolloutResult) if field.default_factory is not MISSING}
"""Fields that are an object of their own in each result if none is given."""
_REQUIRED = _FIELDS - _DEFAULTS.keys() - _MADE


class RolloutResults(list[RolloutResult]):
    """A list of results that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        from openfingym.results.notebook import results_html

        return results_html(self)


def _as_tuple(name: str, value: object) -> tuple[object, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"its {name} must be a list")
    return tuple(value)
