"""The command line, ``openfingym``.

Commands are imported when they are used, so that ``--help`` costs little more than click itself.
"""

from __future__ import annotations

import importlib
import json
import sys

import click

from openfingym.cli import plugin_commands
from openfingym.cli.printable import say
from openfingym.cli.repeats import refusing_repeats
from openfingym.cli.streams import outlast_readers
from openfingym.errors import OpenFinGymError

COMMANDS = {
    "tasks": ("openfingym.cli.task:list_tasks", "List the known tasks."),
    "task": ("openfingym.cli.task:task", "Show, build, check or scaffold a task package."),
    "data": ("openfingym.cli.data:data", "List, pull and verify datasets."),
    "vault": ("openfingym.cli.vault:vault", "Build, describe and verify vaults: what became known, and when."),
    "questions": (
        "openfingym.cli.questions:questions",
        "Look at questions of suites, lint and import your own, and let a model judge what no rule can decide.",
    ),
    "agents": ("openfingym.cli.agents:agents", "List the agents, built-in ones and those of installed packages."),
    "run": ("openfingym.cli.run:run", "Run one agent on one or more tasks and print verified scores."),
    "rollout": ("openfingym.cli.rollout:rollout", "Run many rollouts: tasks x agents x models x seeds."),
    "score": ("openfingym.cli.score:score", "Score an answer of your own against a truth of your own."),
    "published": (
        "openfingym.cli.published:published",
        "Score generated windows as their task's source paper does, beside the paper's own figures.",
    ),
    "report": (
        "openfingym.cli.report:report",
        "Compare finished runs; what the baselines get on every task, and what a trading run did.",
    ),
    "view": ("openfingym.cli.view:view", "Read what an agent did, and how it ended."),
    "export": ("openfingym.cli.export:export", "Write what was recorded in the formats others read."),
    "env": ("openfingym.cli.env:env", "Serve environments to trainers."),
    "mcp": ("openfingym.cli.mcp:mcp", "Let a coding agent play TASK over the Model Context Protocol."),
    "rounds": ("openfingym.cli.rounds:rounds", "Run a live benchmark: rounds of questions, by a schedule."),
    "tape": ("openfingym.cli.tape:tape", "Look at session tapes: everything that went into a live session."),
    "receipt": (
        "openfingym.cli.receipt:receipt",
        "Show and check receipts: what proves a score to those who were not there.",
    ),
    "verifier": ("openfingym.cli.verifier:verifier", "Serve the verifier, ask it how it is, and say who takes part."),
    "ledger": (
        "openfingym.cli.ledger:ledger",
        "List, resolve, verify, report on and import questions and their forecasts.",
    ),
    "image": ("openfingym.cli.image:image", "Build the agent image for the docker backend."),
    "doctor": ("openfingym.cli.doctor:doctor", "Say what works on this machine, and what to do about the rest."),
}
"""Module and attribute of each command of the library, and its help in one line, which the list of commands shows
without importing the module. A test compares it with the command's own help."""


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are run or asked for help.

    The library's own come first, and hide those of other distributions that have the same name.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(dict.fromkeys([*COMMANDS, *plugin_commands.names()]))

    # Click calls it with all of these arguments.
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return plugin_commands.command_of(cmd_name)
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return refusing_repeats(command)

    # Click calls it with all of these arguments.
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        own = {name: text for name, (_, text) in COMMANDS.items()}
        brought = [row for row in plugin_commands.short_helps().items() if row[0] not in own]
        with formatter.section("Commands"):
            formatter.write_dl([*own.items(), *brought])


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from openfingym.version import __version__

        say(f"openfingym {__version__}")
        ctx.exit()


@click.command(
    "openfingym", cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version and exit."
)
def cli() -> None:
    """Evaluate and train AI agents on quantitative finance, with scores that can be trusted.

    Exit status: 0 scored or done, 2 wrong use, 3 the agent's submission was rejected,
    4 a failure of ours or of this machine, 5 a malformed task package, 6 data or store, 7 a receipt that does not
    hold, 130 interrupted.
    With --json, a command prints one form of JSON however many things it is given, and what it cannot do at all as
    {"error": {"type", "message"}}.
    Whoever stops reading what a command prints changes neither its work nor its status.
    """


def main() -> None:
    """Run the command line; a user's mistake ends in one message, never in a traceback."""
    outlast_readers()
    try:
        # Without its standalone mode, click returns the status that a command exits with, and raises its errors.
        status = cli.main(prog_name="openfingym", standalone_mode=False)
        # Here and not at the end of the interpreter, so that a full disk is an error with a message and a status.
        sys.stdout.flush()
    except OpenFinGymError as error:
        # In the arguments, since an error may come before click has read them.
        if "--json" in sys.argv:
            say(json.dumps({"error": {"type": type(error).__name__, "message": str(error)}}))
        say(f"error: {error}", err=True)
        status = error.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("interrupted; nothing was left running", err=True)
        status = 130
    sys.exit(status if isinstance(status, int) else 0)
