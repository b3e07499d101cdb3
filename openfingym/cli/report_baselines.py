"""``openfingym report baselines``: the table of baselines, and measuring it."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from openfingym.cli.choices import FAMILIES
from openfingym.cli.options import backend_option, json_option
from openfingym.cli.printable import say
from openfingym.cli.render import TerminalProgress, print_json, print_table, with_interval
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openfingym.adversarial.marks import Skill
    from openfingym.results.baselines import BaselineResult
    from openfingym.task import Task


@click.command()
@click.option("--run", "again", is_flag=True, help="Measure here and now, and keep the results in --out.")
@click.option("--tasks", "pattern", default="*", show_default=True, help="Only tasks whose name matches.")
@click.option("--family", type=click.Choice(FAMILIES), help="Only this family.")
@click.option("--agents", help="With --run: only these agents, separated by commas.")
@backend_option()
@click.option("--seed", type=int, default=0, show_default=True, help="Seed the programs are given.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File of results; one that is there is gone on with."
)
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@json_option("a list, an object a result")
def baselines(
    again: bool,
    pattern: str,
    family: str | None,
    agents: str | None,
    backend: str,
    seed: int,
    out: Path | None,
    markdown: bool,
    as_json: bool,
) -> None:
    """What simple, fair agents get on every task.

    Prints the results that come with this version; with --run they are measured again.
    """
    from openfingym import catalog
    from openfingym.reports import baselines as table
    from openfingym.results import baselines as record
    from openfingym.task.files import CONFIG, has_task_file

    if has_task_file(Path(pattern), CONFIG):
        pattern = catalog.register(pattern).name
    if again:
        rows = _measure(pattern, family, agents.split(",") if agents else None, backend, seed, out)
    else:
        rows = record.recorded(out or record.RECORD)
    rows = [row for row in rows if fnmatch.fnmatch(row.task, pattern) and family in {None, row.family}]
    if not rows:
        of_family = "" if family is None else f" of the family {family}"
        raise UsageError(
            f"no results: no task{of_family} matches {pattern!r}, or what matches has no results here; "
            "`openfingym tasks` lists all, and --run measures"
        )
    old, shown = table.stale(rows), table.skills(rows)
    if as_json:
        keys = [(row.task, row.agent) for row in rows]
        print_json(
            [
                {**_plain(row), "stale": key in old, "skill_shown": shown.get(key)}
                for row, key in zip(rows, keys, strict=True)
            ]
        )
    elif markdown:
        say(_markdown(rows, old, shown))
    else:
        _show(rows, old, shown)


def _measure(
    pattern: str, family: str | None, agents: Sequence[str] | None, backend: str, seed: int, out: Path | None
) -> list[BaselineResult]:
    """Run baselines on tasks; what a file of results has already is not run again.

    Args:
        pattern: glob over the names of the tasks.
        family: only tasks of this family; None for all.
        agents: only these agents; None for all that fit.
        backend: how programs are isolated.
        seed: seed that the programs are given.
        out: file of results, which is written after each; None for none.

    Returns:
        The results, with those of the file, sorted by task and agent.
    """
    from openfingym import catalog
    from openfingym.agents.builtin import fitting
    from openfingym.kinds import is_live
    from openfingym.reports import baselines as table
    from openfingym.results import baselines as record

    tasks = [catalog.load_task(name) for name in catalog.task_folders() if fnmatch.fnmatch(name, pattern)]
    # A live session is of its own time: its result could be compared with no other.
    tasks = [task for task in tasks if not is_live(task.spec.contract)]
    tasks = [task for task in tasks if family in {None, task.spec.family}]

    def wanted(task: Task) -> list[str]:
        return [name for name in fitting(task) if agents is None or name in agents]

    done = record.recorded(out) if out is not None and out.is_file() else []
    results = {(row.task, row.agent): row for row in done}
    with TerminalProgress() as show:
        for row in table.run_baselines(tasks, wanted, backend=backend, seed=seed, done=done, progress=show):
            results[row.task, row.agent] = row
            # After each one, so that a measurement of hours can be interrupted and gone on with.
            if out is not None:
                record.record(results.values(), out)
    return sorted(results.values(), key=lambda row: (row.family, row.task, row.agent))


def _plain(row: BaselineResult) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(row), "success": row.success}


COLUMNS = ["task", "data", "agent", "success", "relative total", "skill", "total", "seconds"]


def _cells(row: BaselineResult, old: set[tuple[str, str]], shown: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """A result as cells of :data:`COLUMNS`.

    Args:
        row: the result.
        old: task and agent of the results that are stale.
        shown: skill as it is shown, by task and agent.
    """
    name = f"{row.task} (stale)" if (row.task, row.agent) in old else row.task
    return (
        name,
        row.data_kind,
        row.agent,
        "yes" if row.success else row.state,
        with_interval(row.relative_total, row.relative_interval),
        shown.get((row.task, row.agent), "-"),
        with_interval(row.total, row.total_interval),
        f"{row.wall_s:.1f}",
    )


def _ranked(rows: Sequence[BaselineResult]) -> list[BaselineResult]:
    """Results by family and task, the best first; those without a score last."""
    worst = float("inf")
    return sorted(
        rows,
        key=lambda row: (row.family, row.task, worst if row.relative_total is None else row.relative_total, row.agent),
    )


def _show(rows: Sequence[BaselineResult], old: set[tuple[str, str]], shown: Mapping[tuple[str, str], Skill]) -> None:
    from openfingym.adversarial.marks import meanings_of
    from openfingym.task import DataKind

    for kind in get_args(DataKind):
        chosen = _ranked([row for row in rows if row.data_kind == kind])
        if chosen:
            print_table(
                f"{kind} data",
                COLUMNS,
                [_cells(row, old, shown) for row in chosen],
                right=["relative total", "total", "seconds"],
            )
    count = len({row.task for row in rows})
    say(f"{count} tasks, {len(rows)} results")
    if any(row.relative_interval for row in rows):
        say(
            "[low, high]: 95 % interval; where that of the relative total holds 1, agent and baseline cannot be told "
            "apart"
        )
    say(
        "relative total: loss over the task's baseline, geometric mean over metrics; 1 is the baseline, lower is better"
    )
    for meaning in meanings_of(shown.values()):
        say(meaning)
    say("total: the source paper's loss; oracle and nop are checks: the best there is, and an agent that does nothing")
    say("seconds: of the whole rollout, the verifier's scoring included")
    if old:
        say(f"stale: {len(old)} results are of tasks or programs that have changed since; measure again with --run")


def _markdown(rows: Sequence[BaselineResult], old: set[tuple[str, str]], shown: Mapping[tuple[str, str], str]) -> str:
    from openfingym.task import DataKind

    lines = []
    for kind in get_args(DataKind):
        chosen = _ranked([row for row in rows if row.data_kind == kind])
        if chosen:
            lines += [
                f"## {kind.capitalize()} data",
                "",
                f"| {' | '.join(COLUMNS)} |",
                "|---|---|---|---|---:|---|---:|---:|",
            ]
            lines += [f"| {' | '.join(_cells(row, old, shown))} |" for row in chosen]
            lines.append("")
    return "\n".join(lines).rstrip()
