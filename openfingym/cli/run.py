"""``openfingym run``."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from openfingym.cli.choices import CLOCKS
from openfingym.cli.completion import complete_agent, complete_task
from openfingym.cli.model_options import ModelOptions, model_options, patience_option
from openfingym.cli.notices import noticing
from openfingym.cli.options import (
    backend_option,
    fresh_option,
    gathered,
    instance_option,
    json_option,
    out_option,
    program_option,
    quiet_option,
    real_option,
    split_option,
    verifier_option,
)
from openfingym.cli.printable import say
from openfingym.cli.render import TerminalProgress, print_json
from openfingym.cli.run_results import exit_status, print_results
from openfingym.cli.seconds import Seconds
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.agents.llm.session import Listener
    from openfingym.kinds.asking import Clock, QuestionsOrder
    from openfingym.kinds.question_range import QuestionRange
    from openfingym.market.session.terms import SessionOrder
    from openfingym.packages.package import BuiltPackage
    from openfingym.questions import Question
    from openfingym.results import SplitName
    from openfingym.rollouts.launcher import Launcher
    from openfingym.task import Task


@dataclass(frozen=True)
class AgentOptions:
    """The options that say which agent runs, by the names of the command's arguments."""

    agent: str
    no_tools: bool
    program: Path | None
    command: str | None
    files: Path | None
    mount: Path | None

    def resolved(self) -> Agent:
        """The agent that the options name.

        Raises:
            UsageError: there is no such agent, or an option does not go with it.
        """
        from openfingym.agents import resolve, without_tools

        return resolve(
            without_tools(self.agent) if self.no_tools else self.agent,
            self.program,
            command=shlex.split(self.command) if self.command is not None else None,
            files=self.files,
            mount=self.mount,
        )


@dataclass(frozen=True)
class SessionOptions:
    """The options that say where a live session is, by the names of the command's arguments."""

    duration: int | None
    """Seconds."""
    venue: Literal["simulated", "real"]
    tape: Path | None

    def order(self) -> SessionOrder:
        """The session that the options ask for.

        Raises:
            UsageError: the options contradict each other.
        """
        from openfingym.market.session.terms import SessionOrder

        return SessionOrder(self.venue, self.duration, str(self.tape.absolute()) if self.tape is not None else None)


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
@program_option
@click.option(
    "--command",
    help="Your own agent: with --agent command, a command that talks JSON over stdin and stdout; with --agent cli, a "
    "coding command line that is run in the container and reads the task from stdin, or as {prompt}.",
)
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of --command's own text files, copied to /work in the container, where it is run then: without "
    "network, and with `import interface` instead of JSON. Such as --files my-agent --command 'python3 main.py'.",
)
@click.option(
    "--mount",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the command line of --agent cli, shown in the container at /opt/cli, read-only; default: that of "
    "the program which --command names by its path.",
)
@model_options()
@backend_option("How the program is isolated.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed the program is given.")
@out_option("Folder for results.")
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
@gathered("who", AgentOptions)
@gathered("live", SessionOptions)
def run(
    ctx: click.Context,
    names: tuple[str, ...],
    who: AgentOptions,
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
    live: SessionOptions,
    clock: Clock | None,
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
    from openfingym.agents import require_model, suited
    from openfingym.instances import place_of
    from openfingym.kinds import is_live
    from openfingym.models.endpoint import PATIENCE_S
    from openfingym.rollouts.hooks import RolloutHooks
    from openfingym.rollouts.launcher import Launcher
    from openfingym.rollouts.order import RolloutOrder

    # Whatever is wrong with the options is said before a task is built, which may take minutes.
    agent = model.sampled(who.resolved())
    require_model(agent, given=model.model_name is not None)
    spec, allowance, prices = model.spec(), model.allowance(), model.price_table()
    tasks = [catalog.load_task(name, real=real) for name in names]
    session, on = live.order(), split or "test"
    _require_fitting(tasks, session, clock, instanced=place_of(on, instance) is not None, fresh=fresh)
    asked_range, given = _asked(questions, clock, tasks)
    for task in tasks:
        suited(agent, task)
    # Being terminated cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if backend == "docker":
        from openfingym_runtime.docker.images import ensure_agent_image

        ensure_agent_image(log=lambda line: say(line, err=True))

    def notice(line: str) -> None:
        if show.console is not None:
            show.console.print(line, markup=False, soft_wrap=True)
        elif not quiet:
            say(line, err=True)

    with TerminalProgress(enabled=not (as_json or quiet)) as show, noticing(notice):
        show(f"building {', '.join(names)}")
        with Launcher.for_tasks(
            tasks,
            backend=backend,
            verifier=address,
            patience_s=patience or PATIENCE_S,
            # Questions on a clock are resolved by later commands, in the ledger of this machine.
            state=None if clock is None else store.ledger_folder(),
            notice=notice,
        ) as launcher:
            _prepare(launcher, asked_range, given, fresh=fresh)
            results = []
            for package in launcher.packages:
                show(f"{package.manifest.name}: running {agent.name}")
                result = launcher.run(
                    package,
                    agent,
                    RolloutOrder(
                        seed=seed,
                        fresh=fresh,
                        session=session if on == "test" and is_live(package.task.spec.contract) else None,
                        questions=str(asked_range) if asked_range is not None else _order(clock, given),
                        split=on,
                        instance=instance,
                    ),
                    model=spec,
                    allowance=allowance,
                    prices=prices,
                    out=out,
                    hooks=RolloutHooks(listener=_listener(show, package, agent)),
                )
                results.append(result)
    if as_json:
        print_json([{**result.to_dict(), "skill_shown": skill_of(result)} for result in results])
    else:
        print_results(results)
    ctx.exit(exit_status(results))


def _require_fitting(
    tasks: Sequence[Task], session: SessionOrder, clock: str | None, *, instanced: bool, fresh: bool
) -> None:
    """Return if the options that are for tasks of some kinds, or for the test split alone, fit all of the tasks.

    Args:
        tasks: the tasks to run on.
        session: the live session that is asked for.
        clock: the clock of questions; None where none is stated.
        instanced: whether an instance is run on, and not the task as it is.
        fresh: whether hidden data is drawn for each rollout.

    Raises:
        UsageError: an option does not fit; nothing has been built or run.
    """
    from openfingym.kinds import is_deferred, is_live
    from openfingym.market.session.terms import SessionOrder

    if session != SessionOrder() and not all(is_live(task.spec.contract) for task in tasks):
        raise UsageError("--duration, --venue and --tape are for tasks about a live market; leave them out")
    if clock is not None and not all(is_deferred(task.spec.contract) for task in tasks):
        raise UsageError(
            "--clock is for tasks about what has not happened yet, such as polymarket-forecast; leave it out"
        )
    if instanced and (fresh or clock is not None or session != SessionOrder()):
        raise UsageError("an instance has hidden data of its own; leave out --fresh, --clock and live sessions")


def _asked(text: str | None, clock: str | None, tasks: Sequence[Task]) -> tuple[QuestionRange | None, list[Question]]:
    """The questions that --questions states: a range of the tasks' own, or those of a file.

    Raises:
        UsageError: the tasks ask no such questions, or the file has none.
    """
    from openfingym.kinds.question_range import FORM, QuestionRange

    if text is None:
        return None, []
    # A file may be named like a range, such as 1-10; then the range is meant, unless there is a clock.
    if clock is not None or (FORM.fullmatch(text) is None and Path(text).exists()):
        return None, _given(Path(text), clock, tasks)
    asked = QuestionRange.parse(text)
    for task in tasks:
        asked.require_asking(task.spec.contract, task.name)
    return asked, []


def _order(clock: Clock | None, given: Sequence[Question]) -> QuestionsOrder | None:
    """The order of questions on a clock; None where a rollout is asked its task's own rows."""
    from openfingym.kinds.asking import QuestionsOrder

    return None if clock is None else QuestionsOrder(clock, tuple(question.id for question in given))


def _prepare(launcher: Launcher, asked: QuestionRange | None, given: Sequence[Question], *, fresh: bool) -> None:
    """Check what only the built packages tell, and ask the questions of a file, before the first rollout begins.

    Args:
        launcher: the launcher, whose verifiers run.
        asked: the range of the packages' own questions that rollouts are asked; None for all.
        given: questions of a file, which the verifiers ask.
        fresh: whether hidden data is drawn for each rollout.

    Raises:
        UsageError: a package has no such questions, or can have no other hidden data.
    """
    from openfingym.packages.tapes import require_renewal

    for package in launcher.packages:
        if asked is not None:
            asked.require(package.task.spec.contract, package.manifest.name, package.manifest.n_private)
    for package in launcher.packages if fresh else ():
        require_renewal(package)
    for package in launcher.packages if given else ():
        launcher.client_for(package).questions.ask(given)


def _given(path: Path, clock: str | None, tasks: Sequence[Task]) -> list[Question]:
    """The questions in the file of --questions.

    Raises:
        UsageError: the option does not go with the others or with a task, or the file has no questions.
    """
    from openfingym.kinds.asking_real import takes_questions
    from openfingym.questions.history import read_questions

    if clock != "real":
        raise UsageError("--questions goes with --clock real: what is asked there is resolved by its provider")
    if own := [task.name for task in tasks if not takes_questions(task.spec.contract)]:
        raise UsageError(f"{own[0]} asks about its own market; --questions is for tasks such as event-forecast")
    if not path.is_file():
        raise UsageError(f"--questions: there is no file {path}; with --clock real it is one with questions")
    return read_questions(path, time.time_ns())


def _listener(show: TerminalProgress, package: BuiltPackage, agent: Agent) -> Listener | None:
    """A listener that prints what an agent says and does; None where it says nothing, or the output is not wanted."""
    if agent.acts is None or show.console is None:
        return None
    from openfingym.cli.conversation import LiveConversation

    show.console.print(f"\n{package.manifest.name}: {agent.name}", style="bold", markup=False)
    return LiveConversation(show.console).heard
