"""``openfingym report ...``."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.render import Progress, number, print_json, print_table
from openfingym.cli.task import FAMILIES, json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.baselines import BaselineResult
    from openfingym.task import Task


@click.group()
def report() -> None:
    """Tables of results: what the baselines get on every task."""


@report.command()
@click.option("--run", "again", is_flag=True, help="Measure here and now, and keep the results in --out.")
@click.option("--tasks", "pattern", default="*", show_default=True, help="Only tasks whose name matches.")
@click.option("--family", type=click.Choice(FAMILIES), help="Only this family.")
@click.option("--agents", help="With --run: only these agents, separated by commas.")
@click.option("--backend", type=click.Choice(["auto", "docker", "sandbox", "inline"]), default="auto", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed the programs are given.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File of results; one that is there is gone on with.")
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@json_option
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
    from openfingym import baselines as table

    if again:
        rows = _measure(pattern, family, agents.split(",") if agents else None, backend, seed, out)
    else:
        rows = table.recorded(out or table.RECORD)
    rows = [row for row in rows if fnmatch.fnmatch(row.task, pattern) and family in {None, row.family}]
    old = table.stale(rows)
    if as_json:
        print_json([{**_plain(row), "stale": (row.task, row.agent) in old} for row in rows])
    elif markdown:
        click.echo(_markdown(rows, old))
    else:
        _show(rows, old)


def _measure(
    pattern: str, family: str | None, agents: Sequence[str] | None, backend: str, seed: int, out: Path | None
) -> list[BaselineResult]:
    from openfingym import baselines as table
    from openfingym import catalog
    from openfingym.agents import fitting

    tasks = [catalog.load_task(name) for name in catalog.task_folders() if fnmatch.fnmatch(name, pattern)]
    tasks = [task for task in tasks if family in {None, task.spec.family}]

    def wanted(task: Task) -> list[str]:
        return [name for name in fitting(task) if agents is None or name in agents]

    done = table.recorded(out) if out is not None and out.is_file() else []
    found = {(row.task, row.agent): row for row in done}
    with Progress() as show:
        for row in table.run_baselines(tasks, wanted, backend=backend, seed=seed, done=done, progress=show):
            found[row.task, row.agent] = row
            if out is not None:
                table.record(found.values(), out)
    return sorted(found.values(), key=lambda row: (row.family, row.task, row.agent))


def _plain(row: BaselineResult) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(row), "success": row.success}


COLUMNS = ["task", "data", "agent", "success", "relative", "loss", "seconds"]


def _cells(row: BaselineResult, old: set[tuple[str, str]]) -> tuple[str, ...]:
    name = f"{row.task} (stale)" if (row.task, row.agent) in old else row.task
    return (
        name,
        row.data_kind,
        row.agent,
        "yes" if row.success else row.state,
        number(row.relative_total),
        number(row.total),
        f"{row.wall_s:.1f}",
    )


def _ranked(rows: Sequence[BaselineResult]) -> list[BaselineResult]:
    worst = float("inf")
    return sorted(rows, key=lambda row: (row.family, row.task, worst if row.relative_total is None else row.relative_total, row.agent))


def _show(rows: Sequence[BaselineResult], old: set[tuple[str, str]]) -> None:
    for kind in ("real", "simulated", "specified"):
        chosen = _ranked([row for row in rows if row.data_kind == kind])
        if chosen:
            print_table(f"{kind} data", COLUMNS, [_cells(row, old) for row in chosen], right=["relative", "loss", "seconds"])
    count = len({row.task for row in rows})
    click.echo(f"{count} tasks, {len(rows)} results")
    click.echo("relative: loss over the task's baseline, geometric mean over metrics; 1 is the baseline, lower is better")
    click.echo("loss: the source paper's total; oracle and nop are checks: the best there is, and an agent that does nothing")
    if old:
        click.echo(f"stale: {len(old)} results are of tasks or programs that have changed since; measure again with --run")


def _markdown(rows: Sequence[BaselineResult], old: set[tuple[str, str]]) -> str:
    lines = []
    for kind in ("real", "simulated", "specified"):
        chosen = _ranked([row for row in rows if row.data_kind == kind])
        if chosen:
            lines += [f"## {kind.capitalize()} data", "", f"| {' | '.join(COLUMNS)} |", "|---|---|---|---|---:|---:|---:|"]
            lines += [f"| {' | '.join(_cells(row, old))} |" for row in chosen]
            lines.append("")
    return "\n".join(lines).rstrip()
