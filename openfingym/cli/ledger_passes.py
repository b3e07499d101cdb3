"""``openfingym ledger resolve``, ``advance`` and ``import``: resolving questions, moving a clock, and replaying a past
season.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from openfingym.cli.ledger_place import connected, mark_of, place_options
from openfingym.cli.options import json_option
from openfingym.cli.printable import printable, say
from openfingym.cli.render import print_json
from openfingym.errors import UsageError

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NUMBERS = ("resolved", "void", "waiting", "error", "revised", "scored", "forecasts")
"""Names of the numbers that a pass of the resolver counts, in the order in which they are printed."""


@click.command()
@click.argument("question", required=False)
@click.option("--outcome", metavar="TRUTH", help="What came: a number, yes or no, or the name of the outcome.")
@click.option("--void", metavar="REASON", help="There will be no truth, for this reason.")
@click.option("--evidence", metavar="TEXT", help="What the verdict rests on, such as an address.")
@click.option("--watch", is_flag=True, help="Go on until interrupted.")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds between two looks."
)
@click.option(
    "--void-after", "void_after", type=click.FloatRange(min=0.0), metavar="DAYS",
    help="Days after its evaluation time that a question is void without a truth. Default: 14.",
)  # fmt: skip
@place_options
@json_option("an object, one a line with --watch")
def resolve(
    question: str | None,
    outcome: str | None,
    void: str | None,
    evidence: str | None,
    watch: bool,
    every: float,
    void_after: float | None,
    address: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Resolve and score what is due; or decide one QUESTION, with --outcome or --void, and --evidence.

    A question that a provider decides can be voided, and what it decided corrected: the first decision counts, and the
    correction is kept beside it. The exit status is 4 where a provider could not be asked.
    """
    if question is not None:
        if (outcome is None) == (void is None) or not evidence or watch:
            raise UsageError("to decide a question, give --outcome or --void, and --evidence that it rests on")
        with connected(address, folder) as client:
            done = client.questions.decide(
                question, _truth(outcome), evidence={"evidence": evidence}, reason=void or ""
            )
            _print_pass(done, as_json=as_json)
        return
    if outcome is not None or void is not None or evidence is not None:
        raise UsageError("name the question that is decided: openfingym ledger resolve QUESTION --outcome ...")
    void_after_s = None if void_after is None else void_after * 86_400.0
    with connected(address, folder) as client:
        done = client.questions.resolve(everything=True, void_after_s=void_after_s)
        _print_pass(done, as_json=as_json, line=watch)
        while watch:
            time.sleep(every)
            # Providers that have just answered are not asked again with every look.
            done = client.questions.resolve(everything=False, void_after_s=void_after_s)
            if any(done[name] for name in NUMBERS):
                _print_pass(done, as_json=as_json, line=True)
    if done["error"]:
        click.get_current_context().exit(4)


@click.command()
@click.argument("clock")
@click.argument("moment", metavar="TIME")
@place_options
def advance(clock: str, moment: str, address: str | None, folder: Path | None) -> None:
    """Move the simulated CLOCK forward to TIME, such as 2025-11-26T00:00:00Z; one that is new is made."""
    from openfingym.questions import moment_ns

    with connected(address, folder) as client:
        say(f"{printable(clock)}: {client.questions.advance(clock, moment_ns(moment))}{mark_of(clock)}")


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--clock",
    metavar="NAME",
    help="Clock of the replay; SIMULATED unless its name begins with replayed/. Default: replayed/ and the first "
    "file's name.",
)
@click.option("--agent", default="", metavar="NAME", help="Agent of forecasts that name none.")
@place_options
@json_option("an object")
def import_history(
    files: tuple[Path, ...], clock: str | None, agent: str, address: str | None, folder: Path | None, as_json: bool
) -> None:
    """Import a past season: questions with their outcomes, and forecasts, from JSON Lines, plain or packed (.json.gz).

    Field names are this library's own or ForecastBench's. Every line is checked before anything is recorded. Questions
    are asked on a simulated clock; forecasts that are given are made again, each at its time, while the clock passes
    and questions are resolved. Without forecasts, the questions wait for those of an agent, and for `openfingym ledger
    advance` and `openfingym ledger resolve`.
    """
    from openfingym.cli.ledger_history import replay
    from openfingym.questions.history import read_history
    from openfingym.questions.question import REPLAYED

    stem = Path(files[0].name.removesuffix(".gz")).stem
    name = clock or f"{REPLAYED}{''.join(c if c.isalnum() or c in '._-' else '-' for c in stem)}"
    history = read_history(files, clock=name, agent=agent)
    with connected(address, folder) as client:
        replayed = replay(client.questions, history, name)
    if as_json:
        print_json(replayed)
    else:
        say(
            f"{replayed['questions']} questions, {replayed['forecasts']} forecasts, "
            f"{replayed['scored']} questions scored, "
            f"{replayed['void']} void, {replayed['waiting']} waiting for a truth; "
            f"clock {printable(name)}: {replayed['now']}{mark_of(name)}"
        )


def _truth(outcome: str | None) -> object:
    """A truth that a person states: a number, or the name of an outcome; None where there is none."""
    if outcome is None:
        return None
    try:
        return float(outcome)
    except ValueError:
        return outcome


def _print_pass(done: Mapping[str, Any], *, as_json: bool, line: bool = False) -> None:
    """Print what a pass of the resolver did, and what providers could not say.

    Args:
        done: numbers and problems of the pass.
        as_json: whether to print JSON for programs.
        line: whether the JSON is put on one line, as where many passes follow each other.
    """
    if as_json:
        say(json.dumps(done) if line else json.dumps(done, indent=2))
        return
    say(", ".join(f"{done[name]} {name}" for name in NUMBERS if done[name]) or "nothing is due")
    for question, reason in done["problems"].items():
        say(f"  {question}: {reason}", err=True)
