"""``openfingym rollout``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from openfingym.cli.render import Progress, number, print_json, print_table
from openfingym.cli.run import exit_status
from openfingym.cli.task import json_option, real_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.results import RolloutResult
    from openfingym.rollouts import Plan, RunFolder, Selection, Work

T = TypeVar("T")
BACKENDS = ("auto", "docker", "sandbox", "inline", "ray")
INTERRUPTED = 130


@click.command()
@click.option("--tasks", multiple=True, help="Name, glob over names, family/glob such as 'forecasting/*', or folder; repeatable.")
@click.option("--agent", "agents", multiple=True, help="Built-in agent; repeatable. `openfingym agents` lists them.")
@click.option("--program", type=click.Path(dir_okay=False, path_type=Path), help="Your Python program, with --agent script.")
@click.option("--model", "models", multiple=True, help="Language model, for agents that ask one; repeatable.")
@click.option("--base-url", help="OpenAI-compatible endpoint of the models; default: $OPENAI_BASE_URL.")
@click.option(
    "--plan",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file that says all this and more, such as limits; options win over it.",
)
@click.option("--seeds", help="How many seeds, counted from 0; or which, such as 3,5,8.")
@click.option("--attempts", type=click.IntRange(min=1), help="Repetitions with the same seed.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the run; what is there goes on.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Rollouts at once on each machine; default: one a core.")
@click.option("--backend", type=click.Choice(BACKENDS), help="How programs are isolated; ray: on the nodes of a running Ray cluster.")
@click.option("--verifier", "address", help="URL or unix socket of a running verifier; default: one is started for this command.")
@click.option("--shard", "part", metavar="K/N", help="Only every N-th rollout, from the K-th on: one part for each of N machines.")
@click.option("--again", is_flag=True, help="Run everything once more, as further attempts.")
@click.option("--retry", type=click.Choice(["error"]), help="Run again what failed for a reason of ours; the evidence is kept.")
@real_option
@json_option
@click.pass_context
def rollout(
    ctx: click.Context,
    tasks: tuple[str, ...],
    agents: tuple[str, ...],
    program: Path | None,
    models: tuple[str, ...],
    base_url: str | None,
    file: Path | None,
    seeds: str | None,
    attempts: int | None,
    out: Path,
    concurrency: int | None,
    backend: str | None,
    address: str | None,
    part: str | None,
    again: bool,
    retry: str | None,
    real: bool,
    as_json: bool,
) -> None:
    """Run many rollouts: tasks x agents x models x seeds.

    Every rollout ends as a folder below --out, whole or not at all. What is there is not run again:
    the same command goes on where a run was interrupted or killed, on this machine or another.
    Failures of ours are tried again and are never a score.
    """
    from openfingym.rollouts import RunFolder, prepare, select
    from openfingym.workers import default_jobs

    changes = {
        "tasks": tasks, "agents": agents, "models": models, "base_url": base_url, "seeds": _seeds(seeds), "attempts": attempts,
        "concurrency": concurrency, "backend": None if backend == "ray" else backend, "real": real,
    }  # fmt: skip
    plan = _plan(file, changes, agents)
    selection = select(plan, program=program)
    # Being terminated cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with RunFolder.open(out) as folder:
        with Progress(enabled=not as_json) as show:
            jobs = default_jobs()
            work = prepare(plan, selection, folder, part=part, again=again, retry_errors=retry == "error", jobs=jobs, show=show)
        _announce(selection, work, out)
        results = dict(work.done)
        if work.missing:
            ran = _interruptible(_run(plan, selection, work, folder, ray=backend == "ray", address=address))
            if ran is None:
                _say_how_to_go_on(work, folder, again=again)
                ctx.exit(INTERRUPTED)
            results |= {spec.identity: result for spec, result in zip(work.missing, ran, strict=True)}
    ended = [results[spec.identity] for spec in work.specs]
    _print(ended, out, len(work.done), as_json=as_json)
    ctx.exit(exit_status(ended))


def _plan(file: Path | None, changes: Mapping[str, object], agents: tuple[str, ...]) -> Plan:
    from openfingym.rollouts import Plan

    stated = {key: value for key, value in changes.items() if value}
    if file is not None:
        return Plan.read(file, stated)
    if not changes["tasks"] or not agents:
        raise UsageError("say what to run: --tasks and --agent, or --plan FILE")
    return Plan.make(stated, "the options")


def _seeds(text: str | None) -> int | list[int] | None:
    if text is None:
        return None
    try:
        values = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--seeds: expected a count such as 3, or seeds such as 3,5,8; found {text!r}") from None
    if "," not in text and values and values[0] < 1:
        raise UsageError(f"--seeds: expected at least one seed; found {text!r}")
    return values if "," in text else values[0]


async def _run(plan: Plan, selection: Selection, work: Work, folder: RunFolder, *, ray: bool, address: str | None) -> list[RolloutResult]:
    from openfingym.models.prices import PriceTable
    from openfingym.rollout import VerifierAddress
    from openfingym.rollouts import Engine, LocalRunner, ModelAccess, Runner, Station
    from openfingym.rollouts.preparation import is_heavy
    from openfingym.rollouts.progress import LiveProgress
    from openfingym.rollouts.station import cores

    places, names = plan.concurrency or cores(), {package.manifest.name for package in work.needed}
    verifier = VerifierAddress.find(address)
    models = ModelAccess(plan.base_url, PriceTable.load(plan.prices))
    runner: Runner
    if ray:
        from openfingym.rollouts.ray import RayRunner

        tasks = [task for task in selection.tasks if task.name in names]
        runner = await RayRunner.open(tasks, places=places, backend=plan.backend, verifier=verifier, models=models)
    else:
        station = Station(work.needed, backend=plan.backend, verifier=verifier, models=models, upcoming=work.missing, places=places)
        runner = LocalRunner(station, places)
    heavy = {package.manifest.name for package in work.needed if is_heavy(package)}
    with LiveProgress(len(work.specs), len(work.done)) as progress:
        async with Engine(runner, folder, heavy=heavy, scoring=plan.scoring or cores(), watch=progress) as engine:
            return await engine.run(work.missing)


def _interruptible(work: Coroutine[object, object, T]) -> T | None:
    """Run to the end, or to the first Ctrl-C or SIGTERM, which lets it clean up; None where that came first."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        for sign in (signal.SIGINT, signal.SIGTERM):
            # A second one must not break off the cleaning up, which takes no longer than stopping the programs.
            loop.add_signal_handler(sign, lambda: task.cancelling() or task.cancel())
        with contextlib.suppress(asyncio.CancelledError):
            return loop.run_until_complete(task)
    return None


def _announce(selection: Selection, work: Work, out: Path) -> None:
    for agent, tasks in selection.skipped.items():
        click.echo(f"left out: {agent} is not for {', '.join(tasks)}", err=True)
    if work.done:
        click.echo(f"{len(work.done)} of {len(work.specs)} rollouts are finished already in {out}", err=True)


def _say_how_to_go_on(work: Work, folder: RunFolder, *, again: bool) -> None:
    finished = sum(folder.find(spec) is not None for spec in work.specs)
    resume = f"with --attempts {1 + max(spec.attempt for spec in work.specs)} instead of --again" if again else "unchanged"
    click.echo(f"interrupted: {finished} of {len(work.specs)} rollouts are finished and kept in {folder.root}", err=True)
    click.echo(f"to go on, run the same command {resume}; nothing was left running", err=True)


@dataclass(frozen=True)
class _Group:
    """All rollouts of one agent with one model."""

    agent: str
    model: str | None
    tasks: int
    rollouts: int
    scored: int
    rejected: int
    error: int
    median_skill: float | None
    wall_s: float


def _group(results: Sequence[RolloutResult]) -> _Group:
    import statistics

    states = Counter(result.state for result in results)
    skills = [result.skill for result in results if result.skill is not None]
    return _Group(
        results[0].agent,
        results[0].model,
        len({result.task for result in results}),
        len(results),
        states["scored"],
        states["rejected"],
        states["error"],
        statistics.median(skills) if skills else None,
        round(sum(result.wall_s for result in results), 1),
    )


def _print(results: Sequence[RolloutResult], out: Path, resumed: int, *, as_json: bool) -> None:
    by: dict[tuple[str, str | None], list[RolloutResult]] = {}
    for result in results:
        by.setdefault((result.agent, result.model), []).append(result)
    groups = [_group(found) for found in by.values()]
    if as_json:
        document = {"out": str(out), "rollouts": len(results), "finished_before": resumed, "groups": [asdict(group) for group in groups]}
        print_json(document)
        return
    columns = ["agent", "model", "tasks", "runs", "scored", "rejected", "errors", "skill", "seconds"]
    rows = [
        (g.agent, g.model or "-", g.tasks, g.rollouts, g.scored, g.rejected, g.error, number(g.median_skill), f"{g.wall_s:.0f}")
        for g in groups
    ]
    print_table("", columns, rows, right=columns[2:])
    errors = [result for result in results if result.state == "error"]
    for result in errors[:5]:
        click.echo(f"{result.task} {result.agent} seed {result.seed}: a failure of ours, not a score: {result.reason}")
    if errors:
        click.echo(f"run the same command with --retry error to redo {'it' if len(errors) == 1 else f'these {len(errors)}'}")
    click.echo("skill: median of what was scored; 0 is the baseline, higher is better")
    click.echo(f"compare: openfingym report {out}")
