"""The command ``openfingym rollout``."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.choices import BACKENDS, CLOCKS
from openfingym.cli.completion import complete_agent, complete_task
from openfingym.cli.model_options import ModelOptions, model_options, patience_option
from openfingym.cli.notices import noticing
from openfingym.cli.rollout_tables import print_ended, print_intended
from openfingym.cli.run_results import exit_status
from openfingym.cli.task import fresh_option, json_option, quiet_option, real_option, split_option
from openfingym.cli.verifier import verifier_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.rollouts import Plan, Work

INTERRUPTED = 130


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
    type=click.Choice((*BACKENDS, "ray")),
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
def rollout(
    ctx: click.Context,
    tasks: tuple[str, ...],
    agents: tuple[str, ...],
    no_tools: bool,
    program: Path | None,
    seeds: str | None,
    attempts: int | None,
    file: Path | None,
    out: Path,
    dry_run: bool,
    again: bool,
    retry: str | None,
    model: ModelOptions,
    budget: float | None,
    budget_tokens: int | None,
    concurrency: int | None,
    backend: str | None,
    address: str | None,
    patience: float | None,
    part: str | None,
    log: tuple[str, ...],
    real: bool,
    fresh: bool,
    split: str | None,
    instances: str | None,
    questions: str | None,
    clock: str | None,
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
    from openfingym.verifiers import find_verifiers

    changes = {
        "tasks": tasks,
        "agents": agents,
        "seeds": _seeds(seeds),
        "attempts": attempts,
        "models": model.model_name,
        "base_url": model.base_url,
        "stream": model.stream,
        "tokens": model.tokens,
        "limits": model.limits,
        "budget": {key: value for key, value in (("cost_usd", budget), ("tokens", budget_tokens)) if value is not None},
        "sampling": model.sampling,
        "prices": model.prices and str(model.prices),
        "concurrency": concurrency,
        "backend": None if backend == "ray" else backend,
        "patience_s": patience,
        "real": real,
        "fresh": fresh,
        "split": split,
        "instances": instances,
        "questions": questions,
        "clock": clock,
    }
    plan = _plan(file, changes, agents)
    plan = _without_tools(plan) if no_tools else plan
    load_loggers(log)  # what is missing is said now, of a dry run too
    for sign in _endings():
        signal.signal(sign, signal.default_int_handler)
    retry_errors, jobs = retry == "error", default_jobs()
    with RunReporter(out, quiet=quiet) as reporter, noticing(reporter.notice):
        try:
            if dry_run:
                selection = rollouts.select(plan, program=program)
                find_verifiers(address, selection.tasks)  # what is wrong with the address is said now
                work = rollouts.prepare(
                    plan,
                    selection,
                    rollouts.RunFolder.look(out),
                    part=part,
                    again=again,
                    retry_errors=retry_errors,
                    jobs=jobs,
                    show=reporter.preparing,
                )
                reporter.announce(selection, work)
                print_intended(plan, work, out, as_json=as_json)
                return
            results = rollouts.run(
                plan,
                out,
                program=program,
                part=part,
                again=again,
                retry_errors=retry_errors,
                verifier=address,
                ray=backend == "ray",
                jobs=jobs,
                watch=reporter,
                log=log,
            )
        except KeyboardInterrupt:
            _say_how_to_go_on(reporter.work, out, again=again)
            ctx.exit(INTERRUPTED)
    assert reporter.work is not None
    print_ended(results, out, work=reporter.work, wall_s=reporter.wall_s, as_json=as_json)
    ctx.exit(exit_status(results))


def _plan(file: Path | None, changes: Mapping[str, object], agents: tuple[str, ...]) -> Plan:
    from openfingym.rollouts import Plan

    stated = {key: value for key, value in changes.items() if value}
    if file is not None:
        return Plan.read(file, stated)
    if not changes["tasks"] or not agents:
        raise UsageError("say what to run: --tasks and --agent, or --plan FILE")
    return Plan.make(stated, "the options")


def _without_tools(plan: Plan) -> Plan:
    from openfingym.agents import WITH_TOOLS, without_tools

    theirs = [agent for agent in plan.agents if agent.name.partition(":")[0] in WITH_TOOLS]
    if not theirs:
        raise UsageError(f"--no-tools: no agent has tools to do without; {' and '.join(WITH_TOOLS)} have")
    changed = [
        agent.model_copy(update={"name": without_tools(agent.name)}) if agent in theirs else agent
        for agent in plan.agents
    ]
    return plan.model_copy(update={"agents": tuple({agent.name: agent for agent in changed}.values())})


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


def _endings() -> list[signal.Signals]:
    """Signals that end a run after cleaning up: Ctrl-C, being terminated, and losing the terminal unless ``nohup``
    ignores that.
    """
    found = [signal.SIGINT, signal.SIGTERM]
    return found if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [*found, signal.SIGHUP]


def _say_how_to_go_on(work: Work | None, out: Path, *, again: bool) -> None:
    from openfingym.rollouts import RunFolder

    if work is None:
        click.echo(
            "interrupted before the first rollout; what was built is kept, and the same command goes on", err=True
        )
        return
    folder = RunFolder.look(out)
    finished = sum(folder.find(spec) is not None for spec in work.specs)
    resume = (
        f"with --attempts {1 + max(spec.attempt for spec in work.specs)} instead of --again" if again else "unchanged"
    )
    click.echo(
        f"interrupted: {finished} of {len(work.specs)} rollouts are finished and kept in {folder.root}", err=True
    )
    if folder.has_open:
        click.echo("answers to questions are kept too: broken off rollouts go on at the next one", err=True)
    click.echo(f"to go on, run the same command {resume}; nothing was left running", err=True)
