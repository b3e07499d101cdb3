"""The command ``openfingym rollout``."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.choices import BACKENDS, CLOCKS
from openfingym.cli.completion import complete_agent, complete_task
from openfingym.cli.model_options import model_options, patience_option
from openfingym.cli.notices import noticing
from openfingym.cli.options import (
    fresh_option,
    gathered,
    json_option,
    program_option,
    quiet_option,
    real_option,
    split_option,
    verifier_option,
)
from openfingym.cli.plan_options import RAY, PlanOptions
from openfingym.cli.printable import say
from openfingym.cli.rollout_tables import print_ended, print_intended
from openfingym.cli.run_results import exit_status

if TYPE_CHECKING:
    from openfingym.cli.rollout_progress import RunReporter
    from openfingym.rollouts import Plan
    from openfingym.rollouts.preparation import Work

INTERRUPTED = 130
"""Exit status of a run that was interrupted, as shells have it for Ctrl-C."""


@click.command()
@click.option(
    "--tasks",
    multiple=True,
    shell_complete=complete_task,
    help="Name, glob over names, family/glob such as 'forecasting/*', or folder; repeatable.",
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    shell_complete=complete_agent,
    help="Name of an agent; repeatable. `openfingym agents` lists them.",
)
@click.option(
    "--no-tools",
    is_flag=True,
    help="Every agent that answers questions with tools does so without (NAME:tools=none); agents of a plan that "
    "differ in their tools alone become one.",
)
@program_option
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
    "--budget",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="DOLLARS",
    help="What the whole run may spend on models: once it is reached, no further rollout begins.",
)
@click.option("--budget-tokens", type=click.IntRange(min=1), help="The same in tokens, input and output together.")
@click.option(
    "--concurrency", type=click.IntRange(min=1), help="Rollouts at once on each machine; default: one a core."
)
@click.option(
    "--backend",
    type=click.Choice((*BACKENDS, RAY)),
    help="How programs are isolated; ray: on the nodes of a running Ray cluster.",
)
@verifier_option
@patience_option
@click.option(
    "--shard", "part", metavar="K/N", help="Only every N-th rollout, from the K-th on: one part for each of N machines."
)
@click.option(
    "--log",
    multiple=True,
    metavar="NAME",
    help="Send results on as they come in: tensorboard, mlflow, wandb (extras of these names), or a logger of an "
    "installed package; repeatable.",
)
@real_option
@fresh_option
@split_option
@click.option("--instances", metavar="A:B", help="Which instances of --split, such as 0:32; or how many, from 0.")
@click.option("--questions", metavar="A-B", help="Which of its questions each task is asked, such as 1-10, from 1.")
@click.option(
    "--clock",
    type=click.Choice(CLOCKS),
    help="Ask what has not happened yet, of tasks about such: simulated questions, which are resolved at once, or "
    "those of the real market, whose results are deferred until `openfingym ledger resolve` and `openfingym ledger "
    "sync`. Rollouts of one task that begin together on the real clock are asked the same.",
)
@quiet_option
@json_option("an object")
@click.pass_context
@gathered("planned", PlanOptions)
def rollout(
    ctx: click.Context,
    planned: PlanOptions,
    program: Path | None,
    out: Path,
    dry_run: bool,
    again: bool,
    retry: str | None,
    address: str | None,
    part: str | None,
    log: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> None:
    """Run many rollouts: tasks x agents x models x seeds.

    Every rollout ends as a folder below --out, whole or not at all. What is there is not run again:
    the same command goes on where a run was interrupted or killed, on this machine or another.
    Failures of ours are tried again and are never a score.
    """
    from openfingym import rollouts
    from openfingym.cli.rollout_progress import RunReporter
    from openfingym.packages.many import default_jobs
    from openfingym.rollouts.loggers import load_loggers

    plan = planned.plan()
    load_loggers(log)  # what is missing is said now, of a dry run too
    for sign in _endings():
        signal.signal(sign, signal.default_int_handler)
    # Which rollouts of the plan are run, and how tasks are built for them: the same in a dry run.
    chosen: dict[str, Any] = {"part": part, "again": again, "retry_errors": retry == "error", "jobs": default_jobs()}
    with RunReporter(out, quiet=quiet) as reporter, noticing(reporter.notice):
        try:
            if dry_run:
                work = _look(plan, out, program, address, reporter, chosen)
                print_intended(plan, work, out, as_json=as_json)
                return
            results = rollouts.run(
                plan, out, program=program, verifier=address, ray=planned.on_ray, watch=reporter, log=log, **chosen
            )
        except KeyboardInterrupt:
            _say_how_to_go_on(reporter.work, out, again=again)
            ctx.exit(INTERRUPTED)
    assert reporter.work is not None
    print_ended(results, out, work=reporter.work, wall_s=reporter.wall_s, as_json=as_json)
    ctx.exit(exit_status(results))


def _look(
    plan: Plan, out: Path, program: Path | None, address: str | None, reporter: RunReporter, chosen: Mapping[str, Any]
) -> Work:
    """Find out what a run would do, without writing into its folder; tasks that are not built yet are built.

    Args:
        plan: the plan of the run.
        out: the folder of the run, which need not exist.
        program: file of the program that agent ``script`` runs.
        address: location of the verifier.
        reporter: shows what is done meanwhile.
        chosen: further arguments of :func:`openfingym.rollouts.prepare`.
    """
    from openfingym import rollouts
    from openfingym.verifiers import find_verifiers

    selection = rollouts.select(plan, program=program)
    find_verifiers(address, selection.tasks)  # what is wrong with the address is said now
    work = rollouts.prepare(plan, selection, rollouts.RunFolder.look(out), show=reporter.preparing, **chosen)
    reporter.announce(selection, work)
    return work


def _endings() -> list[signal.Signals]:
    """Signals that end a run after cleaning up: Ctrl-C, being terminated, and losing the terminal unless ``nohup``
    ignores that.
    """
    endings = [signal.SIGINT, signal.SIGTERM]
    return endings if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [*endings, signal.SIGHUP]


def _say_how_to_go_on(work: Work | None, out: Path, *, again: bool) -> None:
    """Say what an interrupted run has finished, and the command that goes on."""
    from openfingym.rollouts import RunFolder

    if work is None:
        say("interrupted before the first rollout; what was built is kept, and the same command goes on", err=True)
        return
    # Looked up anew, since rollouts have finished since the run was prepared.
    folder = RunFolder.look(out)
    finished = sum(folder.find(spec) is not None for spec in work.specs)
    # With --again the same command would make further attempts instead of going on with these.
    resume = (
        f"with --attempts {1 + max(spec.attempt for spec in work.specs)} instead of --again" if again else "unchanged"
    )
    say(f"interrupted: {finished} of {len(work.specs)} rollouts are finished and kept in {folder.root}", err=True)
    if folder.has_open:
        say("answers to questions are kept too: broken off rollouts go on at the next one", err=True)
    say(f"to go on, run the same command {resume}; nothing was left running", err=True)
