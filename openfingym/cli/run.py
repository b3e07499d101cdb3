"""``openfingym run``."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from openfingym.cli.choices import BACKENDS, CLOCKS
from openfingym.cli.completion import complete_agent, complete_task
from openfingym.cli.model_options import ModelOptions, model_options, patience_option
from openfingym.cli.notices import noticing
from openfingym.cli.printable import printable
from openfingym.cli.render import TerminalProgress, number, print_json, print_table, typed, with_interval
from openfingym.cli.seconds import Seconds
from openfingym.cli.task import (
    fresh_option,
    instance_option,
    json_option,
    quiet_option,
    real_option,
    split_option,
)
from openfingym.cli.verifier import verifier_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.agents.llm.session import Listener
    from openfingym.kinds.asking import Clock, QuestionsOrder
    from openfingym.kinds.question_range import QuestionRange
    from openfingym.packages.package import BuiltPackage
    from openfingym.questions import Question
    from openfingym.results import RolloutResult, SplitName
    from openfingym.task import Task


@click.command()
@click.argument("names", metavar="TASK...", nargs=-1, required=True, shell_complete=complete_task)
@click.option(
    "--agent",
    default="naive",
    show_default=True,
    shell_complete=complete_agent,
    help="Its name; `openfingym agents` lists them.",
)
@click.option(
    "--no-tools", is_flag=True, help="Questions are answered without tools: short for --agent NAME:tools=none."
)
@click.option(
    "--program", type=click.Path(dir_okay=False, path_type=Path), help="Your Python program, with --agent script."
)
@click.option(
    "--command", help="Your own agent, a command that talks JSON over stdin and stdout, with --agent command."
)
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of --command's own text files, copied to /work in the container, where it is run then: without "
    "network, and with `import interface` instead of JSON. Such as --files my-agent --command 'python3 main.py'.",
)
@model_options()
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="auto",
    show_default=True,
    help="How the program is isolated.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed the program is given.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder for results.",
)
@verifier_option
@patience_option
@real_option
@fresh_option
@split_option
@instance_option
@click.option("--duration", type=Seconds(), help="How long a live session lasts, such as 60s or 5m.")
@click.option(
    "--venue",
    type=click.Choice(("simulated", "real")),
    default="simulated",
    show_default=True,
    help="Where a live session is: a local venue that speaks the real one's protocols, or the real one.",
)
@click.option(
    "--tape",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Play the market of an earlier live session once more: the `tape` in its run folder.",
)
@click.option(
    "--clock",
    type=click.Choice(CLOCKS),
    help="Ask questions whose outcome is not known yet, of a task about such: simulated ones, which are resolved "
    "before the command ends, or those of the real market, whose result is deferred until `openfingym ledger resolve` "
    "settles it. Both stay in the ledger of this machine. Without it the package's own stored questions are asked.",
)
@click.option(
    "--questions",
    metavar="A-B|FILE",
    help="Of a task that asks questions one by one: which of them are asked and scored, such as 1-10, counted from 1. "
    "With --clock real, of a task without a market of its own such as event-forecast: a file of questions to ask, one "
    "JSON object a line as `openfingym ledger import` reads them; without it, the ledger's open questions are asked.",
)
@quiet_option
@json_option("a list of results, also of one")
@click.pass_context
def run(
    ctx: click.Context,
    names: tuple[str, ...],
    agent: str,
    no_tools: bool,
    program: Path | None,
    command: str | None,
    files: Path | None,
    model: ModelOptions,
    backend: str,
    seed: int,
    out: Path,
    address: str | None,
    patience: float | None,
    real: bool,
    fresh: bool,
    split: SplitName | None,
    instance: int | None,
    duration: int | None,
    venue: Literal["simulated", "real"],
    tape: Path | None,
    clock: Literal["simulated", "real"] | None,
    questions: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run one agent on one or more tasks and print verified scores.

    The agent's program runs where it can see neither a label nor a network; the score comes from the
    verifier, on windows no feedback was given on. Results are kept in the folder given by --out.
    """
    from openfingym import catalog, store
    from openfingym.adversarial.marks import skill_of
    from openfingym.agents import require_model, resolve, suited, without_tools
    from openfingym.instances import place_of
    from openfingym.kinds import is_deferred, is_live
    from openfingym.market.session.terms import SessionOrder
    from openfingym.models.endpoint import PATIENCE_S
    from openfingym.packages.tapes import require_renewal
    from openfingym.rollouts.launcher import Launcher

    resolved = model.sampled(
        resolve(
            without_tools(agent) if no_tools else agent,
            program,
            command=shlex.split(command) if command is not None else None,
            files=files,
        )
    )
    require_model(resolved, given=model.model_name is not None)
    spec, allowance, prices = model.spec(), model.allowance(), model.price_table()
    tasks = [catalog.load_task(name, real=real) for name in names]
    asked = SessionOrder(venue, duration, str(tape.absolute()) if tape is not None else None)
    if asked != SessionOrder() and not all(is_live(task.spec.contract) for task in tasks):
        raise UsageError("--duration, --venue and --tape are for tasks about a live market; leave them out")
    if clock is not None and not all(is_deferred(task.spec.contract) for task in tasks):
        raise UsageError(
            "--clock is for tasks about what has not happened yet, such as polymarket-forecast; leave it out"
        )
    on = split or "test"
    if place_of(on, instance) is not None and (fresh or clock is not None or asked != SessionOrder()):
        raise UsageError("an instance has hidden data of its own; leave out --fresh, --clock and live sessions")
    asked_range, given = _asked(questions, clock, tasks)
    for task in tasks:
        suited(resolved, task)
    # Being terminated cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if backend == "docker":
        from openfingym_runtime.images import ensure_agent_image

        ensure_agent_image(log=lambda line: click.echo(line, err=True))

    def notice(line: str) -> None:
        if show.console is not None:
            show.console.print(line, markup=False, soft_wrap=True)
        elif not quiet:
            click.echo(line, err=True)

    with TerminalProgress(enabled=not (as_json or quiet)) as show, noticing(notice):
        show(f"building {', '.join(names)}")
        with Launcher.for_tasks(
            tasks,
            backend=backend,
            verifier=address,
            patience_s=patience or PATIENCE_S,
            state=None if clock is None else store.ledger_folder(),
            notice=notice,
        ) as launcher:
            _require_questions(asked_range, launcher.packages)
            results = []
            for package in launcher.packages if fresh else ():
                require_renewal(package)
            for package in launcher.packages if given else ():
                launcher.client_for(package).questions.ask(given)
            for package in launcher.packages:
                show(f"{package.manifest.name}: running {resolved.name}")
                listener = _listener(show, package, resolved)
                result = launcher.run(
                    package,
                    resolved,
                    model=spec,
                    allowance=allowance,
                    prices=prices,
                    seed=seed,
                    out=out,
                    listener=listener,
                    fresh=fresh,
                    session=asked if on == "test" and is_live(package.task.spec.contract) else None,
                    questions=str(asked_range) if asked_range is not None else _order(clock, given),
                    split=on,
                    instance=instance,
                )
                results.append(result)
    if as_json:
        print_json([{**result.to_dict(), "skill_shown": skill_of(result)} for result in results])
    else:
        print_results(results)
    ctx.exit(exit_status(results))


def _asked(text: str | None, clock: str | None, tasks: Sequence[Task]) -> tuple[QuestionRange | None, list[Question]]:
    """What --questions says: which ones by their numbers, or those of a file."""
    from openfingym.kinds.question_range import FORM, QuestionRange

    if text is None:
        return None, []
    if clock is not None or (FORM.fullmatch(text) is None and Path(text).exists()):
        return None, _given(Path(text), clock, tasks)
    asked = QuestionRange.parse(text)
    for task in tasks:
        asked.require_asking(task.spec.contract, task.name)
    return asked, []


def _order(clock: Clock | None, given: Sequence[Question]) -> QuestionsOrder | None:
    """What --clock has a rollout asked; None for its task's own rows."""
    from openfingym.kinds.asking import QuestionsOrder

    return None if clock is None else QuestionsOrder(clock, tuple(one.id for one in given))


def _require_questions(asked: QuestionRange | None, packages: Sequence[BuiltPackage]) -> None:
    """Return if all tasks have the questions that are asked; before the first of them is run."""
    if asked is None:
        return
    for package in packages:
        asked.require(package.task.spec.contract, package.manifest.name, package.manifest.n_private)


def _given(path: Path, clock: str | None, tasks: Sequence[Task]) -> list[Question]:
    """The questions of --questions."""
    from openfingym.kinds.asking_real import takes_questions
    from openfingym.questions.history import read_questions

    if clock != "real":
        raise UsageError("--questions goes with --clock real: what is asked there is resolved by its provider")
    if own := [task.name for task in tasks if not takes_questions(task.spec.contract)]:
        raise UsageError(f"{own[0]} asks about its own market; --questions is for tasks such as event-forecast")
    if not path.is_file():
        raise UsageError(f"--questions: there is no file {path}; with --clock real it is one with questions")
    return read_questions(path, time.time_ns())


POLICIES = {
    (
        "strict",
        "rounded",
    ): "policy: strict, season {season}: shown no finer than the sampling error, moved towards the baseline",
    (
        "strict",
        "held",
    ): "policy: strict, season {season}: once the season is closed, `openfingym verifier collect` fetches what is held",
    ("strict", "full"): "policy: strict, season {season}: shown as it was computed",
    ("local", "full"): "policy: local: shown as it was computed, to the user of the machine on which the labels lie",
}
"""What is said of the policy under which results came about, and of how much of them is shown."""
TAPES = {
    "fresh": "fresh tape: its hidden data were drawn for this rollout, and the baseline is scored on them as well",
    "twin": "twin tape: its hidden bars were resampled from real ones, and the baseline is scored on them as well",
}
"""What is said of a rollout that was not played on the package's own hidden data."""


def _listener(show: TerminalProgress, package: BuiltPackage, agent: Agent) -> Listener | None:
    """A listener that prints what an agent says and does; None where it says nothing, or the output is not wanted."""
    if agent.acts is None or show.console is None:
        return None
    from openfingym.cli.conversation import LiveConversation

    show.console.print(f"\n{package.manifest.name}: {agent.name}", style="bold", markup=False)
    return LiveConversation(show.console).heard


def split_line(split: str, instance: int | None = None) -> str:
    """What is said of a rollout on an instance."""
    which = f"instance {instance}" if instance is not None else "instances"
    return f"{which} of the split {split}, cut from training data: no score, and in no report of scores"


def session_line(session: Mapping[str, object]) -> str:
    """A live session in a sentence."""
    venue = (
        f"a SIMULATED venue that speaks {session['venue']}'s protocols" if session["simulated"] else session["venue"]
    )
    early = "; its agent left early, and was sold out" if session["left_early"] else ""
    return (
        f"a session of {session['duration_s']} s on {venue}, a bar each {session['interval_s']} s, "
        f"{session['incomplete_bars']} bars with missing trades{early}"
    )


def questions_line(questions: Mapping[str, object] | str) -> str:
    """What a rollout was asked, in a sentence."""
    if isinstance(questions, str):
        return (
            f"questions {questions} alone, on which the baseline is scored as well: to be compared with results on the "
            "same ones"
        )
    kind = "SIMULATED questions" if questions["simulated"] else "questions of the real market"
    counts = ", ".join(f"{questions[name]} {name}" for name in ("scored", "void", "open"))
    later = (
        f"; from {questions['resolved_from']} on `openfingym ledger resolve` resolves the last of them, and "
        "`openfingym ledger sync` brings the score into this folder"
        if questions["open"]
        else ""
    )
    return f"asked {questions['asked']} {kind}: {counts}{later}"


def exit_status(results: list[RolloutResult]) -> int:
    """0 if all are scored, 4 if any ended in an error of ours, else 3."""
    states = {result.state for result in results}
    return 4 if "error" in states else 3 if "rejected" in states else 0


def print_results(results: list[RolloutResult]) -> None:
    """Print a table of results, and why each rejected or failed one was."""
    from openfingym.adversarial.marks import meanings_of, skill_of

    print_table(
        "",
        ["task", "data", "agent", "state", "total", "baseline", "relative total", "skill", "tries", "seconds", "where"],
        [
            (
                r.task,
                r.data_kind,
                r.agent,
                r.state,
                with_interval(r.total, r.total_interval),
                "-" if r.baseline is None else f"{r.baseline} {number(r.baseline_total)}",
                with_interval(r.relative_total, r.relative_interval),
                skill_of(r) or "-",
                f"{r.submissions_accepted}/{r.budget}",
                f"{r.wall_s:.1f}",
                r.backend,
            )
            for r in results
        ],
        right=["total", "baseline", "relative total", "tries", "seconds"],
        optional=["where", "seconds", "tries", "agent", "baseline"],
    )
    for result in results:
        if result.turns:
            cost = "cost unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
            tokens = f"{result.prompt_tokens} + {result.completion_tokens} tokens"
            click.echo(f"{result.task}: {result.model or 'its own model'}: {result.turns} answers, {tokens}, {cost}")
        if result.reason:
            click.echo(f"{result.task}: {result.state}: {printable(result.reason)}")
        if result.split != "test":
            click.echo(f"{result.task}: {split_line(result.split, result.instance)}")
        if result.tape != "given":
            click.echo(f"{result.task}: {TAPES[result.tape]}")
        if result.session is not None:
            click.echo(f"{result.task}: {session_line(result.session)}")
        if result.questions is not None:
            click.echo(f"{result.task}: {questions_line(result.questions)}")
        for flag in result.flags:
            click.echo(f"{result.task}: flagged by the verifier: {flag}")
    click.echo(
        "total: the task's loss, the source paper's where it has one, verified on the private fold, lower is better"
    )
    click.echo(
        "relative total: each metric's loss over the baseline's, geometric mean; 1 is the baseline, lower is better; "
        "this one ranks"
    )
    beside = [result.verifier_s for result in results if result.verifier_s is not None]
    if beside:
        click.echo(f"seconds: the agent's own; the verifier took {sum(beside):.1f} s beside them")
    if any(result.relative_interval for result in results):
        click.echo(
            "[low, high]: 95 % interval; where that of the relative total holds 1, agent and baseline cannot be told "
            "apart"
        )
    for meaning in meanings_of(map(skill_of, results)):
        click.echo(meaning)
    for policy, disclosure, season in dict.fromkeys(
        (result.policy, result.disclosure, result.season) for result in results
    ):
        if policy is not None and disclosure is not None:
            click.echo(POLICIES[policy, disclosure].format(season=season))
    click.echo(
        f"details: {typed(results[0].path)}" + (f" and {len(results) - 1} more beside it" if len(results) > 1 else "")
    )
    if any(result.turns for result in results):
        click.echo(f"read what was done: openfingym view {typed(results[0].path)}")
