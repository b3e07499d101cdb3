"""``openfingym questions list``, ``show`` and ``prove``: what a suite asks, and why an answer is the only right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from openfingym.cli.render import print_json, print_table
from openfingym.cli.task import json_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.suites.catalogue import CatalogueEntry

PARTS = ("private", "public", "train", "rest", "all")
LONGEST = 90
"""Characters of a question's text in a list."""

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


def _tagged(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(tag_options):
        function = option(function)
    return function


@click.command("list")
@suite_argument
@_tagged
@part_option
@json_option("a list, an object a question")
def list_command(suite: str, tiers: tuple[str, ...], tags: tuple[str, ...], part: str, as_json: bool) -> None:
    """List the questions of a suite."""
    found = _chosen(suite, tiers, tags, part)
    if as_json:
        print_json([_row(one) for one in found])
        return
    rows = [
        [str(one.number or "-"), one.question.id, one.question.as_of[:16], _short(one.question.text)] for one in found
    ]
    print_table(f"Questions of {suite}", ["N", "id", "asked as of", "question"], rows)
    counted = Counter(tag for one in found for tag in one.question.tags)
    click.echo(f"{len(found)} questions; {', '.join(f'{tag} {count}' for tag, count in sorted(counted.items()))}")


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
    every = _catalogue(suite)
    found = next((one for one in every if wanted in (one.question.id, str(one.number))), None)
    if found is None:
        raise UsageError(
            f"{suite} has no question {wanted!r}; expected a number from 1 to "
            f"{max(one.number or 0 for one in every)} or an id, as `openfingym questions list {suite}` shows them"
        )
    told = {**_row(found), **found.details, **({"program": found.program()} if with_program else {})}
    if as_json:
        print_json(told)
        return
    program = told.pop("program", None)
    for name, value in told.items():
        click.echo(f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    if program:
        click.echo(f"\n{program}")


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
    found = _chosen(suite, tiers, tags, part)[::every]
    proofs = [(one.question.id, *one.prove()) for one in found]
    faulty = [(wanted, faults) for wanted, _, faults in proofs if faults]
    most = max((calls for _, calls, _ in proofs), default=0)
    if as_json:
        print_json({"proved": len(proofs) - len(faulty), "faulty": dict(faulty), "most_calls": most})
    else:
        for wanted, faults in faulty:
            click.echo(f"{wanted}: {'; '.join(faults)}")
        click.echo(
            f"{len(proofs) - len(faulty)} of {len(proofs)} questions proved; at most {most} calls of tools an answer"
        )
    if faulty:
        ctx.exit(1)


def _catalogue(suite: str) -> Sequence[CatalogueEntry]:
    from openfingym.suites.registry import find_suite

    found = find_suite(suite).catalogue()
    if not found:
        raise UsageError(
            f"the suite {suite} keeps no questions: it makes them for each task; `openfingym task show` does"
        )
    return found


def _chosen(suite: str, tiers: tuple[str, ...], tags: tuple[str, ...], part: str) -> list[CatalogueEntry]:
    every = _catalogue(suite)
    known = {tag for one in every for tag in one.question.tags}
    if unknown := {*tiers, *tags} - known:
        raise UsageError(
            f"no question of {suite} has the tag {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}"
        )
    return [
        one
        for one in every
        if part in (one.part, "all")
        and (not tiers or set(tiers) & set(one.question.tags))
        and set(tags) <= set(one.question.tags)
    ]


def _row(one: CatalogueEntry) -> dict[str, object]:
    return {
        "number": one.number,
        "id": one.question.id,
        "part": one.part,
        "as_of": one.question.as_of,
        "tags": list(one.question.tags),
        "question": one.question.text,
        "answer": one.answer,
    }


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
