"""Which agents run on which tasks of a plan, and the rollouts that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from openfingym import catalog
from openfingym.agents import Agent, read_program, require_model, resolve, suited, with_sampling
from openfingym.errors import TaskError, UsageError
from openfingym.kinds import asks_questions, is_deferred
from openfingym.models.meter import Allowance
from openfingym.models.prices import PriceTable
from openfingym.rollouts.plan import AgentChoice, Plan, SamplingChoice
from openfingym.rollouts.spec import RolloutSpec
from openfingym.task import Task
from openfingym.task.model import stated_family
from openfingym.task.pattern import FAMILIES, TaskPattern


@dataclass(frozen=True)
class Selection:
    """Which agents are to run on which tasks."""

    pairs: tuple[tuple[Task, Agent], ...]
    """Each task with each agent that runs on it, in the order of the plan."""
    skipped: Mapping[str, tuple[str, ...]]
    """Names of the tasks that a pattern matches but on which the agent cannot act, by the agent's name."""

    @property
    def tasks(self) -> list[Task]:
        """Every task once, in the order of the plan."""
        return list({task.name: task for task, _ in self.pairs}.values())


def select(plan: Plan, *, program: Path | None = None) -> Selection:
    """Choose the tasks that a plan names, each with the agents that can act on it.

    A task that is named must fit every agent. A task that a pattern matches is left out for the agents that it does not
    fit.

    Args:
        plan: the plan of the run.
        program: file of the program that agent ``script`` runs; None where no such agent is planned.

    Raises:
        UsageError: a pattern matches nothing, an agent is unknown or fits none of the tasks.
        TaskError: a task package is malformed.
    """
    tasks = _choose(plan.tasks, real=plan.real)
    agents = [with_sampling(_agent(choice, program), **plan.sampling.model_dump()) for choice in plan.agents]
    # Results are told apart by the names of their agents.
    names = [agent.name for agent in agents]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"agent {', '.join(repeated)}: given more than once; give each program a name of its own")
    _check_models(plan, agents)
    if plan.clock is not None:
        _check_deferred([task for task, _ in tasks], agents)
    if plan.questions is not None:
        _check_asking([task for task, _ in tasks])
    pairs, skipped = [], {agent.name: list[str]() for agent in agents}
    for task, named in tasks:
        for agent in agents:
            try:
                pairs.append((task, suited(agent, task)))
            except UsageError:
                if named:
                    raise
                skipped[agent.name].append(task.name)
    for agent in agents:
        # By name: suited() may have returned a variant of the agent that fits the task.
        if not any(fitting.name == agent.name for _, fitting in pairs):
            raise UsageError(
                f"agent {agent.name!r} is for none of {', '.join(plan.tasks)}; `openfingym agents` says what each is "
                "for"
            )
    return Selection(tuple(pairs), {name: tuple(tasks) for name, tasks in skipped.items() if tasks})


def expand(plan: Plan, selection: Selection, digests: Mapping[str, str]) -> list[RolloutSpec]:
    """Every rollout of a plan, in the order in which they are run.

    Attempts and seeds vary slowest, so that an interrupted run has something on every task; only instances vary slower,
    so that all rollouts on one instance come together.

    Args:
        plan: the plan of the run.
        selection: the tasks and agents that the plan selects.
        digests: digest of each task's build, by the task's name.
    """
    return [
        RolloutSpec(
            task.name,
            digests[task.name],
            agent,
            model,
            plan.allowance if agent.acts else Allowance(),
            seed,
            attempt,
            plan.fresh,
            plan.clock,
            plan.split,
            instance,
            plan.questions,
        )
        for instance in plan.instances or (None,)
        for attempt in range(plan.attempts)
        for seed in plan.seeds
        for task, agent in selection.pairs
        for model in ([model.name for model in plan.models] if agent.asks_model else (None,))
    ]


def shard(specs: Sequence[RolloutSpec], part: str) -> list[RolloutSpec]:
    """One part of some rollouts, so that several machines can share them.

    Args:
        specs: the rollouts, in the same order on every machine.
        part: ``"k/n"`` for every n-th rollout from the k-th on, with k from 1 to n.

    Raises:
        UsageError: ``part`` is not of that form.
    """
    first, slash, last = part.partition("/")
    if not (slash and first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise UsageError(f"a part is given as k/n with k from 1 to n, such as 2/8; found {part!r}")
    return list(specs[int(first) - 1 :: int(last)])


def _agent(choice: AgentChoice, program: Path | None) -> Agent:
    if choice.program is not None:
        return Agent(choice.name, "program", read_program(Path(choice.program)))
    if choice.command is not None:
        kind = "command" if choice.mount is None else "cli"
        agent = resolve(kind, command=choice.command, files=choice.files, mount=choice.mount)
        return replace(agent, name=choice.name)
    return resolve(choice.name, program if choice.name == "script" else None)


def _check_models(plan: Plan, agents: Sequence[Agent]) -> None:
    """Refuse models that nobody asks, agents without the model they need, and prices that a limit needs and lacks."""
    asking = [agent for agent in agents if agent.asks_model]
    for agent in asking:
        require_model(agent, given=bool(plan.models))
    if plan.models and not asking:
        raise UsageError(
            f"none of the agents {', '.join(agent.name for agent in agents)} asks a model; leave the models out"
        )
    if plan.sampling != SamplingChoice() and not asking:
        raise UsageError("sampling is for agents that ask a model, and none does; leave it out")
    # Endpoints are no part of a rollout's identity: one model at two of them would be the same rollouts.
    if len({model.name for model in plan.models}) < len(plan.models):
        raise UsageError("a model is given twice; run each of its endpoints into a folder of its own")
    prices = PriceTable.load(plan.prices)
    for model in plan.model_specs:
        if plan.limits.cost_usd is not None or plan.budget.cost_usd is not None:
            prices.require(model.name)


def _check_deferred(tasks: Sequence[Task], agents: Sequence[Agent]) -> None:
    """Refuse a clock for tasks that ask nothing about the future, and for the oracle."""
    unfit = [task.name for task in tasks if not is_deferred(task.spec.contract)]
    if unfit:
        raise UsageError(
            f"clock is for tasks about what has not happened yet, and {', '.join(unfit[:5])} "
            f"{'is none' if len(unfit) == 1 else 'are none'}; leave it out, or name such tasks alone"
        )
    if any(agent.kind == "oracle" for agent in agents):
        raise UsageError("the oracle does not know what has not happened yet; leave it out, or the clock")


def _check_asking(tasks: Sequence[Task]) -> None:
    """Refuse a range of questions for tasks that do not ask them one by one."""
    if unfit := [task.name for task in tasks if not asks_questions(task.spec.contract)]:
        raise UsageError(
            f"questions are of tasks that ask them one by one, and {', '.join(unfit[:5])} "
            f"{'does not' if len(unfit) == 1 else 'do not'}; leave them out, or name such tasks alone"
        )


def _choose(patterns: Iterable[str], *, real: bool) -> list[tuple[Task, bool]]:
    """The tasks that match the patterns, each once, and for each whether it was named without a wildcard."""
    folders = catalog.task_folders()
    chosen: dict[str, tuple[Task, bool]] = {}
    for pattern in patterns:
        matches, named = _matches(pattern, folders, real=real)
        for task in matches:
            before = chosen.setdefault(task.name, (task, named))
            if before[0].folder.resolve() != task.folder.resolve():
                raise UsageError(f"two tasks are named {task.name!r}: {before[0].folder} and {task.folder}; rename one")
            chosen[task.name] = (task, before[1] or named)
    return list(chosen.values())


def _matches(pattern: str, folders: Mapping[str, Path], *, real: bool) -> tuple[list[Task], bool]:
    """The tasks that one pattern matches, and whether it names a task without a wildcard."""
    if pattern in folders or (Path(pattern) / "task.toml").is_file():
        return [catalog.load_task(pattern, real=real)], True
    try:
        wanted = TaskPattern.parse(pattern)
    except ValueError as error:
        raise UsageError(f"{pattern}: no folder of a task, and {error}") from None
    if wanted.is_name:
        # There is no such task: the error that this raises suggests names that are close.
        return [catalog.load_task(pattern, real=real)], True
    tasks = []
    for name in wanted.names(folders):
        try:
            task = catalog.load_task(folders[name], real=real)
        except TaskError:
            # A malformed task whose file states another family does not keep this plan from running.
            if wanted.family is not None and stated_family(folders[name]) in {*FAMILIES} - {wanted.family}:
                continue
            raise
        if wanted.gives(task):
            tasks.append(task)
    if not tasks:
        raise UsageError(f"{pattern}: matches no task; `openfingym tasks` lists them")
    return tasks, False
