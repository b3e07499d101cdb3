"""``openfingym questions list``, ``show`` and ``prove``: the questions of a suite, and proofs that their answers are
the only right ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.suites.catalogue import CatalogueEntry

PARTS = ("private", "public", "train", "rest", "all")
"""Parts of a suite's questions: those that score, those to practise on, those with answers, the rest, and all."""
LONGEST = 90
"""The most characters of a question's text in a list."""

suite_argument = click.argument("suite")
part_option = click.option(
    "--part", type=click.Choice(PARTS), default="private", show_default=True,
    help="Those that count, those to practise on, those with answers, or the rest of the pool.",
)  # fmt: skip
tag_options = (
    click.option("--tier", "tiers", multiple=True, help="Tag of a tier, such as T3; several are joined by or."),
    click.option(
        "--tag", "tags", multiple=True, help="Another tag, such as zh, real or 'fixed income'; all must be there."
    ),
)


def _tagged(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose questions by their tags."""
    for option in reversed(tag_options):
        command = option(command)
    return command


@click.command("list")
@suite_argument
@_tagged
@part_option
@json_option("a list, an object a question")
def list_command(suite: str, tiers: tuple[str, ...], tags: tuple[str, ...], part: str, as_json: bool) -> None:
    """List the questions of a suite."""
    chosen = _chosen(suite, tiers, tags, part)
    if as_json:
        print_json([_row(entry) for entry in chosen])
        return
    rows = [
        [str(entry.number or "-"), entry.question.id, entry.question.as_of[:16], _short(entry.question.text)]
        for entry in chosen
    ]
    print_table(f"Questions of {suite}", ["N", "id", "asked as of", "question"], rows)
    counted = Counter(tag for entry in chosen for tag in entry.question.tags)
    say(f"{len(chosen)} questions; {', '.join(f'{tag} {count}' for tag, count in sorted(counted.items()))}")


@click.command("show")
@suite_argument
@click.argument("wanted", metavar="N|ID")
@click.option("--with-program", is_flag=True, help="Also the program that computes the answer, which anybody can run.")
@json_option("an object")
def show_command(suite: str, wanted: str, with_program: bool, as_json: bool) -> None:
    """Show one question: its text, its answer, what may differ and why, and where its figures are from.

    It is chosen by its number among those that count, or by its id. The answer is shown: keep it from those who are
    asked.
    """
    entries = _catalogue(suite)
    entry = next((entry for entry in entries if wanted in (entry.question.id, str(entry.number))), None)
    if entry is None:
        raise UsageError(
            f"{suite} has no question {wanted!r}; expected a number from 1 to "
            f"{max(entry.number or 0 for entry in entries)} or an id, as `openfingym questions list {suite}` shows them"
        )
    values = {**_row(entry), **entry.details, **({"program": entry.program()} if with_program else {})}
    if as_json:
        print_json(values)
        return
    # Last and by itself, so that it can be copied and run.
    program = values.pop("program", None)
    for name, value in values.items():
        say(f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    if program:
        say(f"\n{program}")


@click.command("prove")
@suite_argument
@_tagged
@part_option
@click.option("--every", default=1, show_default=True, type=click.IntRange(1), help="One question in so many.")
@json_option("an object")
@click.pass_context
def prove_command(
    ctx: click.Context, suite: str, tiers: tuple[str, ...], tags: tuple[str, ...], part: str, every: int, as_json: bool
) -> None:
    """Prove questions anew: programs are run again, on tables and on tools alone, and other readings are decided.

    The exit status is 1 where a proof fails.
    """
    chosen = _chosen(suite, tiers, tags, part)[::every]
    proofs = [(entry.question.id, *entry.prove()) for entry in chosen]
    faulty = [(wanted, faults) for wanted, _, faults in proofs if faults]
    most = max((calls for _, calls, _ in proofs), default=0)
    if as_json:
        print_json({"proved": len(proofs) - len(faulty), "faulty": dict(faulty), "most_calls": most})
    else:
        for wanted, faults in faulty:
            say(f"{wanted}: {'; '.join(faults)}")
        say(f"{len(proofs) - len(faulty)} of {len(proofs)} questions proved; at most {most} calls of tools an answer")
    if faulty:
        ctx.exit(1)


def _catalogue(suite: str) -> Sequence[CatalogueEntry]:
    """All questions of a suite.

    Raises:
        UsageError: there is no such suite, or it keeps no questions.
    """
    from openfingym.suites.registry import find_suite

    entries = find_suite(suite).catalogue()
    if not entries:
        raise UsageError(
            f"the suite {suite} keeps no questions: it makes them for each task; `openfingym task show` does"
        )
    return entries


def _chosen(suite: str, tiers: tuple[str, ...], tags: tuple[str, ...], part: str) -> list[CatalogueEntry]:
    """The questions of a part of a suite that have one of some tiers and all of some tags.

    Raises:
        UsageError: no question of the suite has one of the tags.
    """
    entries = _catalogue(suite)
    known = {tag for entry in entries for tag in entry.question.tags}
    # A tag that is misspelt would choose nothing, which looks like a suite without such questions.
    if unknown := {*tiers, *tags} - known:
        raise UsageError(
            f"no question of {suite} has the tag {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}"
        )
    return [
        entry
        for entry in entries
        if part in (entry.part, "all")
        and (not tiers or set(tiers) & set(entry.question.tags))
        and set(tags) <= set(entry.question.tags)
    ]


def _row(entry: CatalogueEntry) -> dict[str, object]:
    """A question as JSON has it."""
    return {
        "number": entry.number,
        "id": entry.question.id,
        "part": entry.part,
        "as_of": entry.question.as_of,
        "tags": list(entry.question.tags),
        "question": entry.question.text,
        "answer": entry.answer,
    }


def _short(text: str) -> str:
    """A text cut to :data:`LONGEST` characters."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
