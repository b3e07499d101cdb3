"""Printing what ``openfingym rollout`` would run in a dry run, and the results of what it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from openfingym.cli.printable import printable, say
from openfingym.cli.render import print_json, print_table

if TYPE_CHECKING:
    from openfingym.models.meter import Allowance
    from openfingym.models.prices import PriceTable
    from openfingym.reports.foreseen import Foreseen
    from openfingym.results import RolloutResult
    from openfingym.rollouts import Plan
    from openfingym.rollouts.preparation import Work

SHOWN_ERRORS = 5
"""The most rollouts in state ``error`` that are shown."""


@dataclass(frozen=True)
class _Skill:
    """Skill over the tasks with data of one kind, with its 95 % interval."""

    data_kind: str
    value: float | None
    low: float | None
    """Lower end of the interval; None where nothing is known of the error."""
    high: float | None
    """Upper end of the interval; None where nothing is known of the error."""
    tasks: int
    runs: int
    """Number of scored and rejected runs."""
    over: str | None
    """Whether the interval is over other tasks (``task``) or other items of these tasks alone (``item``)."""
    penalized: float | None
    """Geometric mean over tasks of the relative total, a rejected run counted as 100; None without judged runs."""


@dataclass(frozen=True)
class _Ended:
    """The results of one agent with one model; the fields are also those of the JSON."""

    agent: str
    model: str | None
    isolation: str | None
    """The least of what ran in isolation in any of them; None where that is not known of one, and of none was less
    than all of its programs."""
    tasks: int
    rollouts: int
    scored: int
    rejected: int
    error: int
    deferred: int
    median_skill: float | None
    """Median skill of what was scored; None where nothing was."""
    skill: tuple[_Skill, ...]
    """Skill on data of each kind, as a report states it."""
    cost_usd: float | None
    """US dollars that models cost; None where no model was asked, or a price is not known."""
    wall_s: float
    """Seconds that the agent took in all rollouts together, added up though they ran side by side."""


@dataclass(frozen=True)
class _Intended:
    """The planned rollouts of one agent with one model; the fields are also those of the JSON."""

    agent: str
    model: str | None
    tasks: int
    rollouts: int
    finished: int
    cost_usd: float | None
    """US dollars that the finished rollouts cost; None where no model was asked, or a price is not known."""
    expected_usd: float | None
    """US dollars that the missing rollouts will cost if they cost as much as the finished ones; None where that is not
    known."""
    most_usd: float | None
    """US dollars that the limits let the missing rollouts cost; None where nothing limits it, or no price is known."""


def print_ended(results: Sequence[RolloutResult], out: Path, *, work: Work, wall_s: float, as_json: bool) -> None:
    """Print the results of a run, and what to do next.

    Args:
        results: results of the rollouts of the run.
        out: the folder of the run.
        work: the rollouts of the run; those without a result were left unrun, because the budget was reached.
        wall_s: seconds that the rollouts of this call took, from the first start to the last end.
        as_json: whether to print JSON for programs instead of tables.
    """
    resumed, unrun = len(work.done), len(work.specs) - len(results)
    groups = [_ended(of_agent) for of_agent in _by_agent(results)]
    if as_json:
        counts = {"out": str(out), "rollouts": len(results), "finished_before": resumed, "unrun": unrun}
        print_json({**counts, "wall_s": round(wall_s, 1), "groups": [asdict(group) for group in groups]})
        return
    _print_groups(groups)
    _print_errors([result for result in results if result.state == "error"])
    _print_counts(results, out, work, wall_s)
    if trained := sorted({result.split for result in results} - {"test"}):
        from openfingym.cli.run_results import split_line

        say(split_line(trained[0]))
        return
    say(
        "skill: as in the report, over tasks, a rejected run counted as the baseline, which is 0; higher is better; "
        "[low, high]: its 95 % interval, where there is enough for one"
    )
    if any(group.rejected for group in groups):
        say(
            "penalized: the relative total, a rejected run counted as 100 times the baseline; lower is better, and a "
            "report ranks by it"
        )
    say(f"compare: openfingym report {out}")
    say(f"read what was done: openfingym view {out}" + (" --state rejected" if any(g.rejected for g in groups) else ""))


def _print_groups(groups: Sequence[_Ended]) -> None:
    """Print the table of agents, with columns about deferred and rejected rollouts where there are any."""
    late = any(group.deferred for group in groups)
    # Skill takes a rejected run for the baseline, so that by it alone a bad agent would gain by failing.
    failed = any(group.rejected and group.skill for group in groups)
    more = ["deferred"] if late else []
    penalized = ["penalized"] if failed else []
    columns = ["agent", "model", "tasks", "runs", "scored", "rejected", "errors", *more, *penalized, "skill", "cost"]
    rows = [
        (
            f"{g.agent} (outside)" if g.isolation == "outside" else g.agent,
            g.model or "-",
            g.tasks,
            g.rollouts,
            g.scored,
            g.rejected,
            g.error,
            *([g.deferred] if late else []),
            *(["\n".join(map(_penalized_text, g.skill)) or "-"] if failed else []),
            "\n".join(_skill_text(skill, named=len(g.skill) > 1) for skill in g.skill) or "-",
            _money(g.cost_usd),
        )
        for g in groups
    ]
    print_table("", columns, rows, right=columns[2:], optional=["tasks"])


def _print_counts(results: Sequence[RolloutResult], out: Path, work: Work, wall_s: float) -> None:
    """Print how many rollouts are deferred, were run, were finished before, and were left unrun."""
    from openfingym.cli.rollout_progress import duration

    resumed, unrun = len(work.done), len(work.specs) - len(results)
    if waiting := sum(result.state == "deferred" for result in results):
        say(
            f"{waiting} deferred, until what they were asked is resolved: "
            f"openfingym ledger resolve && openfingym ledger sync {out}"
        )
    ran = len(results) - resumed
    before = f", {resumed} finished before" if resumed else ""
    where = f"; backend {', '.join(sorted({result.backend for result in results}))}" if results else ""
    nothing = "nothing was run" if unrun else "nothing was left to run"
    say((f"{ran} run in {duration(wall_s)}" if ran else nothing) + before + where)
    if unrun:
        say(
            f"{unrun} of {len(work.specs)} rollouts were left unrun, as the run's budget is reached; with a higher "
            "one, the same command goes on"
        )


def _print_errors(errors: Sequence[RolloutResult]) -> None:
    """Print what failed for a reason of ours or of an endpoint, and how much of it can be tried again without a second
    look at hidden data.
    """
    for result in errors[:SHOWN_ERRORS]:
        who = " ".join(filter(None, (result.task, result.agent, result.model)))
        whose = "the endpoint's failure" if result.boundary == "model" else "a failure of ours"
        say(f"{who} seed {result.seed}: {whose}, not a score: {printable(result.reason or '')}")
    if len(errors) > SHOWN_ERRORS:
        say(f"and {len(errors) - SHOWN_ERRORS} more")
    again = sum(not result.told for result in errors)
    if again:
        say(
            "run the same command with --retry error to redo "
            f"{'it' if again == len(errors) == 1 else f'{again} of them'}"
        )
    if again < len(errors):
        say(
            f"{len(errors) - again} were told something of hidden data first: another try would be a second one; "
            "--again makes new attempts"
        )


def print_intended(plan: Plan, work: Work, out: Path, *, as_json: bool) -> None:
    """Print what a run would do, and what it may cost.

    Args:
        plan: the plan of the run.
        work: the rollouts of the run.
        out: the folder of the run.
        as_json: whether to print JSON for programs instead of a table.
    """
    from openfingym.models.prices import PriceTable

    prices = PriceTable.load(plan.prices)
    pairs = dict.fromkeys((spec.agent.name, spec.model) for spec in work.specs)
    groups = [_intended(work, agent, model, prices) for agent, model in pairs]
    tasks = list(dict.fromkeys(spec.task for spec in work.specs))
    if as_json:
        rollouts = [
            {
                "task": spec.task,
                "agent": spec.agent.name,
                "model": spec.model,
                "seed": spec.seed,
                "attempt": spec.attempt,
                "split": spec.split,
                "instance": spec.instance,
                "questions": spec.questions,
                "finished": spec.identity in work.done,
            }
            for spec in work.specs
        ]
        document = {"out": str(out), "groups": [asdict(group) for group in groups], "rollouts": rollouts}
        told, unknown = _foreseen(plan, tasks)
        print_json({**document, "foreseen": [asdict(one) for one in told], "not_foreseen": unknown})
        return
    columns = ["agent", "model", "tasks", "runs", "finished", "to run", "spent", "expected", "at most"]
    rows = [
        (
            g.agent,
            g.model or "-",
            g.tasks,
            g.rollouts,
            g.finished,
            g.rollouts - g.finished,
            _money(g.cost_usd),
            _money(g.expected_usd),
            "-" if g.model is None else "unknown" if g.most_usd is None else _money(g.most_usd),
        )
        for g in groups
    ]
    print_table("", columns, rows, right=columns[2:], optional=["tasks"])
    say(f"tasks: {', '.join(tasks)}")
    if plan.models:
        say(
            "expected: if the rest costs what the finished ones did; at most: by the limits on cost, or on tokens at a "
            "known price,"
        )
        say("which the last answer of each may go over")
    bounds = ([] if plan.budget.cost_usd is None else [f"${plan.budget.cost_usd:g}"]) + (
        [] if plan.budget.tokens is None else [f"{plan.budget.tokens:,} tokens"]
    )
    if bounds:
        say(f"of all together: no rollout of a model begins once {' or '.join(bounds)} are spent")
    told, unknown = _foreseen(plan, tasks)
    for one in told:
        say(f"{one.sentence}; with a chance of 80 %, by the errors of recorded baselines; unlike repeats add to it")
    if unknown:
        say(f"what difference can be told is not known of tasks without a record: {', '.join(unknown)}")
    say(f"a dry run: {len(work.missing)} of {len(work.specs)} rollouts would be run into {out}, and none was")


def _foreseen(plan: Plan, tasks: Sequence[str]) -> tuple[list[Foreseen], list[str]]:
    """What the run could tell of two agents on the data of each kind, and the tasks of which that is not known."""
    from openfingym.reports.foreseen import foreseen

    if plan.split != "test":
        return [], []
    # The record is of a task's own data and of all its questions.
    if plan.real or plan.clock is not None or plan.questions is not None:
        return [], list(tasks)
    return foreseen(tasks, len(plan.seeds) * plan.attempts, own_tapes=plan.fresh)


def _by_agent(results: Iterable[RolloutResult]) -> list[list[RolloutResult]]:
    """The results of each agent with each model, in the order in which they first come."""
    groups: dict[tuple[str, str | None], list[RolloutResult]] = {}
    for result in results:
        groups.setdefault((result.agent, result.model), []).append(result)
    return list(groups.values())


def _skills(results: Sequence[RolloutResult]) -> Iterator[_Skill]:
    """Skill on data of each kind: real and simulated data never share a figure."""
    from openfingym.reports.cells import penalized_estimate, skill_estimate
    from openfingym.reports.datasets import datasets_of
    from openfingym.reports.groups import judged

    for kind in dict.fromkeys(result.data_kind for result in results):
        tasks: dict[tuple[str, str, str], list[RolloutResult]] = {}
        for result in judged(result for result in results if result.data_kind == kind):
            tasks.setdefault((result.task, result.task_digest, result.slice or ""), []).append(result)
        by_task, datasets = list(tasks.values()), datasets_of([task for task, *_ in tasks], kind)
        estimate, penalized = skill_estimate(by_task, datasets), penalized_estimate(by_task, datasets).value
        runs = sum(map(len, tasks.values()))
        yield _Skill(kind, estimate.value, estimate.low, estimate.high, estimate.tasks, runs, estimate.over, penalized)


def _penalized_text(skill: _Skill) -> str:
    from openfingym.reports.formatting import figure

    return "-" if skill.penalized is None else figure(skill.penalized)


def _skill_text(skill: _Skill, *, named: bool) -> str:
    """A skill with its interval, or with the number of tasks and runs where these are too few for one."""
    kind = f"{skill.data_kind}: " if named else ""
    if skill.value is None:
        return f"{kind}-"
    if skill.low is None or skill.high is None:
        return (
            f"{kind}{skill.value:+z.3f} (only {skill.tasks} task{'s' * (skill.tasks != 1)}, "
            f"{skill.runs} run{'s' * (skill.runs != 1)})"
        )
    over = ", of these tasks alone" if skill.over == "item" else ""
    return f"{kind}{skill.value:+z.3f} [{skill.low:+z.3f}, {skill.high:+z.3f}]{over}"


def _ended(results: Sequence[RolloutResult]) -> _Ended:
    from openfingym.results.result import LEAST_ISOLATED

    states = Counter(result.state for result in results)
    skills = [result.skill for result in results if result.skill is not None]
    return _Ended(
        agent=results[0].agent,
        model=results[0].model,
        isolation=min((result.isolation for result in results), key=LEAST_ISOLATED.index),
        tasks=len({result.task for result in results}),
        rollouts=len(results),
        scored=states["scored"],
        rejected=states["rejected"],
        error=states["error"],
        deferred=states["deferred"],
        median_skill=median(skills) if skills else None,
        skill=tuple(_skills([result for result in results if result.split == "test"])),
        cost_usd=_cost(results),
        wall_s=round(sum(result.wall_s for result in results), 1),
    )


def _intended(work: Work, agent: str, model: str | None, prices: PriceTable) -> _Intended:
    specs = [spec for spec in work.specs if (spec.agent.name, spec.model) == (agent, model)]
    done = [work.done[spec.identity] for spec in specs if spec.identity in work.done]
    missing = len(specs) - len(done)
    costs = [result.cost_usd for result in done if result.model is not None and result.cost_usd is not None]
    most = None if model is None else _most(specs[0].allowance, model, prices)
    return _Intended(
        agent=agent,
        model=model,
        tasks=len({spec.task for spec in specs}),
        rollouts=len(specs),
        finished=len(done),
        cost_usd=_cost(done),
        expected_usd=fmean(costs) * missing if costs else None,
        most_usd=None if most is None else most * missing,
    )


def _cost(results: Sequence[RolloutResult]) -> float | None:
    """US dollars that models cost; None where no model was asked, or a price is not known."""
    costs = [result.cost_usd for result in results if result.turns]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _most(allowance: Allowance, model: str, prices: PriceTable) -> float | None:
    """The most that one rollout may cost, in US dollars; None where no limit says so."""
    # Prices are for a million tokens; as if all tokens were of the dearer sort.
    price = prices.find(model)
    by_tokens = (
        None if price is None or allowance.tokens is None else allowance.tokens * max(price.input, price.output) / 1e6
    )
    return min((bound for bound in (allowance.cost_usd, by_tokens) if bound is not None), default=None)


def _money(dollars: float | None) -> str:
    return "-" if dollars is None else f"${dollars:.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"
