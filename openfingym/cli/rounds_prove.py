"""``openfingym rounds prove``: checking that nothing that became known later went into the questions of a series."""

from __future__ import annotations

from pathlib import Path

import click

from openfingym.cli.ledger_place import folder_option
from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json
from openfingym.cli.rounds_place import about, opened_ledger, series_argument, title, verifier_option

UNPROVED = 7
"""Exit status where a proof does not hold; the same as where a receipt does not."""


@click.command()
@series_argument
@click.option("--weeks", type=click.IntRange(min=1), help="Rounds to prove, from the first on.  [default: all]")
@verifier_option
@folder_option
@json_option("an object")
@click.pass_context
def prove(
    ctx: click.Context, series: str | None, weeks: int | None, verifier: str | None, folder: Path | None, as_json: bool
) -> None:
    """Generate the rounds of a SERIES again from copies of their vaults without all that became known later.

    The same questions must come, to the byte: so nothing that was not known yet went into any of them. That holds for
    each pass of a season that was played more than once. The exit status is 7 where one differs.
    """
    from openfingym.rounds.book import Book
    from openfingym.rounds.passes import passes_of
    from openfingym.rounds.proving import prove_generation

    book = Book.find(series)
    if not as_json:
        say(title(book))
    rows, well = [], True
    with opened_ledger(verifier, folder) as ledger:
        for one in passes_of(book):
            if one.number > 1 and not as_json:
                say(f"pass {one.number}")
            for name, proof in prove_generation(one, ledger, weeks):
                rows.append({"source": name, "pass": one.number, **proof.to_dict()})
                well = well and proof.proved
                if not as_json:
                    said = "proved" if proof.proved else "NOT PROVED"
                    say(f"{proof.week}  {name}  {proof.questions} questions  {said}  {proof.digest}")
                    for difference in proof.differences:
                        say(f"  {difference}", err=True)
    if as_json:
        print_json(about(book) | {"holds": well, "proofs": rows})
    elif not rows:
        say("no round was generated yet")
    if not well:
        say("What another version of openfingym generated differs too: prove with the one that asked.", err=True)
        ctx.exit(UNPROVED)
