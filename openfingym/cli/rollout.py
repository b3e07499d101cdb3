"""``openfingym rollout``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from openfingym.cli.model_options import ModelOptions, model_options
from openfingym.cli.render import TerminalProgress
from openfingym.cli.rollout_tables import print_ended, print_intended
from openfingym.cli.run import exit_status
from openfingym.cli.task import fresh_option, json_option, quiet_option, real_option
from openfingym.cli.verifier import verifier_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.cli.rollout_progress import LiveProgress
    from openfingym.results import RolloutResult
    from openfingym.rollouts import Plan, RunFolder, Selection, Work
    from openfingym.verifiers import VerifierAddress

T = TypeVar("T")
BACKENDS = ("auto", "docker", "sandbox", "inline", "ray")
INTERRUPTED = 130


@click.command()
@click.option(
    "--tasks", multiple=True, help="Name, glob over names, family/glob such as 'forecasting/*', or folder; repeatable."
)
@click.option("--agent", "agents", multiple=True, help="Built-in agent; repeatable. `openfingym agents` lists them.")
@click.option(
    "--program", type=click.Path(dir_okay=False, path_type=Path), help="Your Python program, with --agent script."
)
@click.option("--seeds", help="How many seeds, counted from 0; or which, such as 3,5,8.")
@click.option("--attempts", type=click.IntRange(min=1), help="Repetitions with the same seed.")
@click.option(
    "--plan",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file that says all this and more; options win over it.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder of the run; what is there goes on.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be run and what it may cost; run nothing.")
@click.option("--again", is_flag=True, help="Run everything once more, as further attempts.")
@click.option(
    "--retry",
    type=click.Choice(["error"]),
    help="Run again what failed for a reason of ours, unless its agent knows hidden data.",
)
@model_options(many=True)
@click.option(
    "--concurrency", type=click.IntRange(min=1), help="Rollouts at once on each machine; default: one a core."
)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    help="How programs are isolated; ray: on the nodes of a running Ray cluster.",
)
@verifier_option
@click.option(
    "--patience",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="SECONDS",
    help="How long a model's endpoint, Docker or a verifier that does not answer is waited for.  [default: 600]",
)
@click.option(
    "--shard", "part", metavar="K/N", help="Only every N-th rollout, from the K-th on: one part for each of N machines."
)
@real_option
@fresh_option
@quiet_option
@json_option
@click.pass_context
def rollout(
    ctx: click.Context,
    tasks: tuple[str, ...],
    agents: tuple[str, ...],
    program: Path | None,
    seeds: str | None,
    attempts: int | None,
    file: Path | None,
    out: Path,
    dry_run: bool,
    again: bool,
    retry: str | None,
    model: ModelOptions,
    concurrency: int | None,
    backend: str | None,
    address: str | None,
    patience: float | None,
    part: str | None,
    real: bool,
    fresh: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run many rollouts: tasks x agents x models x seeds.

    Every rollout ends as a folder below --out, whole or not at all. What is there is not run again:
    the same command goes on where a run was interrupted or killed, on this machine or another.
    Failures of ours are tried again and are never a score.
    """
    from openfingym.packages.many import default_jobs
    from openfingym.rollouts import RunFolder, prepare, select
    from openfingym.verifiers import find_verifiers
    from openfingym.verifiers.finding import require_served

    changes = {
        "tasks": tasks,
        "agents": agents,
        "seeds": _seeds(seeds),
        "attempts": attempts,
        "models": model.model_name,
        "base_url": model.base_url,
        "limits": model.limits,
        "sampling": model.sampling,
        "prices": model.prices and str(model.prices),
        "concurrency": concurrency,
        "backend": None if backend == "ray" else backend,
        "patience_s": patience,
        "real": real,
        "fresh": fresh,
    }
    plan = _plan(file, changes, agents)
    selection = select(plan, program=program)
    if backend != "ray" and not dry_run:
        for spec in plan.model_specs:
            spec.require_access()
    way = _Way(ray=backend == "ray", verifiers=find_verifiers(address, selection.tasks), quiet=quiet)
    for sign in _endings():
        signal.signal(sign, signal.default_int_handler)
    with contextlib.nullcontext(RunFolder.look(out)) if dry_run else RunFolder.open(out) as folder:
        with _interruptible_preparation(ctx), TerminalProgress(enabled=not quiet, lines=True) as show:
            jobs = default_jobs()
            work = prepare(
                plan, selection, folder, part=part, again=again, retry_errors=retry == "error", jobs=jobs, show=show
            )
            if (
                way.verifiers is not None and not way.ray and not dry_run
            ):  # Ray's nodes may reach what this machine does not
                show("asking the verifiers")
                require_served(work.needed, way.verifiers)
        if not quiet:
            _announce(selection, work, out)
        if dry_run:
            print_intended(plan, work, out, as_json=as_json)
            return
        started, results = time.monotonic(), dict(work.done)
        if work.missing:
            ran = _run(plan, selection, work, folder, way)
            if ran is None:
                _say_how_to_go_on(work, folder, again=again)
                ctx.exit(INTERRUPTED)
            results |= {spec.identity: result for spec, result in zip(work.missing, ran, strict=True)}
    ended = [results[spec.identity] for spec in work.specs]
    print_ended(ended, out, resumed=len(work.done), wall_s=time.monotonic() - started, as_json=as_json)
    ctx.exit(exit_status(ended))


@dataclass(frozen=True)
class _Way:
    """How rollouts are run."""

    ray: bool
    verifiers: Mapping[str, VerifierAddress] | None
    quiet: bool


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


def _run(plan: Plan, selection: Selection, work: Work, folder: RunFolder, way: _Way) -> list[RolloutResult] | None:
    """Run what is missing; None where that was interrupted."""
    from openfingym.cli.rollout_progress import LiveProgress

    if way.quiet:
        return _interruptible(_drive(plan, selection, work, folder, way, None), lambda: None)
    with LiveProgress(len(work.specs), len(work.done)) as progress:
        return _interruptible(_drive(plan, selection, work, folder, way, progress), progress.stopping)


async def _drive(
    plan: Plan, selection: Selection, work: Work, folder: RunFolder, way: _Way, progress: LiveProgress | None
) -> list[RolloutResult]:
    from openfingym.kinds import is_heavy
    from openfingym.machine import cores
    from openfingym.models.prices import PriceTable
    from openfingym.rollouts import LocalRollouts, LocalRunner, ModelAccess, RolloutEngine, Runner

    places, names = plan.concurrency or cores(), {package.manifest.name for package in work.needed}
    tasks = [task for task in selection.tasks if task.name in names]
    models = ModelAccess({spec.name: spec for spec in plan.model_specs}, PriceTable.load(plan.prices))
    runner: Runner
    if way.ray:
        from openfingym.rollouts.ray import RayRunner

        runner = await RayRunner.open(
            tasks,
            backend=plan.backend,
            verifiers=way.verifiers,
            models=models,
            upcoming=work.missing,
            places=places,
            patience_s=plan.patience_s,
        )
    else:
        runner = LocalRunner(
            LocalRollouts(
                work.needed,
                backend=plan.backend,
                verifiers=way.verifiers,
                models=models,
                upcoming=work.missing,
                places=places,
                patience_s=plan.patience_s,
            ),
            places,
        )
    heavy = {package.manifest.name for package in work.needed if is_heavy(package.task.spec)}
    async with RolloutEngine(runner, folder, heavy=heavy, scoring=plan.scoring or cores(), watch=progress) as engine:
        return await engine.run(work.missing)


def _endings() -> list[signal.Signals]:
    """Ctrl-C, and what cleans up as it does: being terminated, and losing the terminal, unless ``nohup`` is to keep
    that off.
    """
    found = [signal.SIGINT, signal.SIGTERM]
    return found if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [*found, signal.SIGHUP]


def _interruptible(work: Coroutine[object, object, T], stopping: Callable[[], None]) -> T | None:
    """Run to the end, or to the first of the signals that end it, which lets it clean up; None where that came
    first.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)

        def stop() -> None:
            # A second one must not break off the cleaning up, which takes no longer than stopping the programs.
            if not task.cancelling():
                task.cancel()
            stopping()

        for sign in _endings():
            loop.add_signal_handler(sign, stop)
        with contextlib.suppress(asyncio.CancelledError):
            return loop.run_until_complete(task)
    return None


@contextlib.contextmanager
def _interruptible_preparation(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo(
            "interrupted before the first rollout; what was built is kept, and the same command goes on", err=True
        )
        ctx.exit(INTERRUPTED)


def _announce(selection: Selection, work: Work, out: Path) -> None:
    for agent, tasks in selection.skipped.items():
        click.echo(f"left out: {agent} is not for {', '.join(tasks)}", err=True)
    if work.done:
        click.echo(f"{len(work.done)} of {len(work.specs)} rollouts are finished already in {out}", err=True)


def _say_how_to_go_on(work: Work, folder: RunFolder, *, again: bool) -> None:
    finished = sum(folder.find(spec) is not None for spec in work.specs)
    resume = (
        f"with --attempts {1 + max(spec.attempt for spec in work.specs)} instead of --again" if again else "unchanged"
    )
    click.echo(
        f"interrupted: {finished} of {len(work.specs)} rollouts are finished and kept in {folder.root}", err=True
    )
    click.echo(f"to go on, run the same command {resume}; nothing was left running", err=True)
