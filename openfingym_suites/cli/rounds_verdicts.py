"""``openfingym rounds verdicts``: listing and deciding questions that only a person can decide."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from openfingym.cli.ledger_place import folder_option
from openfingym.cli.options import json_option
from openfingym.cli.printable import one_line, say
from openfingym.cli.render import print_json, print_table
from openfingym.cli.rounds_place import about, opened_ledger, series_argument, title, verifier_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.truth.verdicts import VerdictCase

LONGEST = 70
"""The most characters of a question's text in a table."""


@click.command()
@series_argument
@click.option("--all", "everything", is_flag=True, help="List what is decided, too.")
@click.option("--show", metavar="QUESTION", help="Show one question with its evidence.")
@click.option("--decide", metavar="QUESTION", help="Give an opinion on a question, by its id.")
@click.option("--as", "outcome", type=click.Choice(["YES", "NO", "VOID"]), help="Of --decide: the opinion.")
@click.option("--by", metavar="NAME", help="Of --decide: whose it is.")
@click.option("--reason", help="Of --decide: why.")
@click.option("--final", is_flag=True, help="Of --decide: settle a dispute.")
@click.option(
    "--opinions",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many of one mind decide.",
)
@verifier_option
@folder_option
@json_option("an object")
def verdicts(
    series: str | None,
    everything: bool,
    show: str | None,
    decide: str | None,
    outcome: Literal["YES", "NO", "VOID"] | None,
    by: str | None,
    reason: str | None,
    final: bool,
    opinions: int,
    verifier: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """List what waits for a person's verdict in a SERIES, with what the evidence proposes; or decide.

    A proposal decides nothing. What was decided is entered in the ledger once, with the opinions, the proposal and the
    findings as its evidence.
    """
    from openfingym.questions import utc_text
    from openfingym.rounds.book import Book
    from openfingym_suites.findeepforecast.rounds.verdict_proposals import (
        LedgerVerdicts,
        agreement_with_record,
        propose,
    )
    from openfingym_suites.findeepforecast.truth.verdicts import VerdictQueue, agreement

    book = Book.find(series)
    queue = VerdictQueue.of_series(book.folder, opinions=opinions)
    if decide is not None and not (outcome and by and reason):
        raise UsageError("--decide needs --as, --by and --reason")
    with opened_ledger(verifier, folder) as ledger:
        propose(book, ledger, queue)
        # A verdict that an earlier command gave, and could not enter, is entered now.
        entering = LedgerVerdicts(ledger)
        queue.enter(entering)
        record = agreement_with_record(book, ledger) if decide is None and show is None else None
        if decide is not None:
            assert outcome is not None
            assert by is not None
            assert reason is not None
            at = utc_text(time.time_ns())
            queue.give(decide, outcome, by=by, at=at, reason=reason, final=final, ledger=entering)
    named = show or decide
    cases = [queue.case(named)] if named else queue.cases(*(() if everything else ("pending", "disputed")))
    agreed = agreement(queue.cases())
    if as_json:
        document = {"cases": [asdict(case) for case in cases], "agreement": asdict(agreed) | {"share": agreed.share}}
        if record is not None:
            document["agreement_with_record"] = asdict(record) | {"share": record.share}
        print_json(about(book) | document)
        return
    say(title(book))
    if named:
        _print_case(cases[0])
    elif cases:
        rows = [(_line(case.question), case.state, _proposed(case), _line(case.text)) for case in cases]
        print_table("", ["question", "state", "proposed", "text"], rows)
    else:
        say("nothing waits for a verdict")
    if agreed.share is not None:
        say(f"proposals agree with {100 * agreed.share:.0f} % of {agreed.compared} verdicts")
    if record is not None and record.share is not None:
        say(
            f"proposals of the rules agree with {100 * record.share:.0f} % of {record.compared} outcomes that the "
            f"simulated world records; {record.decided - record.compared} are indeterminate"
        )


def _proposed(case: VerdictCase) -> str:
    """The outcome that the evidence proposes; a dash where it proposes none."""
    return str(case.proposal.get("outcome", "-"))


def _line(text: str) -> str:
    return one_line(text, LONGEST)


def _print_case(case: VerdictCase) -> None:
    """Print one question with its proposal, its evidence, and the opinions on it."""
    say(f"{case.question}\n{case.text}")
    state = f"{case.state}{f': {case.outcome}' if case.outcome else ''}{', in the ledger' if case.entered else ''}"
    say(f"  state     {state}")
    say(f"  proposed  {_proposed(case)}: {case.proposal.get('reason', '')}")
    findings: list[dict[str, Any]] = list(case.evidence.get("findings", ()))
    for finding in findings:
        source = f"{finding.get('source') or '-'}{' (official)' if finding.get('official') else ''}"
        say(f"  {finding.get('says')}: {source}: {finding.get('quotation') or finding.get('note')}")
    for opinion in case.opinions:
        say(f"  {opinion.by}, {opinion.at}: {opinion.outcome}: {opinion.reason}")
