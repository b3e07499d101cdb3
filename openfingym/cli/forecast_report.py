"""``openfingym ledger report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.ledger_place import folder_of, folder_option
from openfingym.cli.printable import one_line
from openfingym.cli.render import TerminalProgress, print_json, print_table
from openfingym.cli.task import json_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.reports.forecasts import ForecastReport
    from openfingym.reports.forecasts.report import Track

LONGEST = 200
"""Characters of a name."""


@click.command("report")
@folder_option
@click.option(
    "--where",
    "chosen",
    metavar="COLUMN=NAME",
    multiple=True,
    help="Only these, by category, market, round, provider, form, clock, agent, version or principal; * is any text. "
    "Repeat for several.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a self-contained page with plots.")
@json_option("an object")
def report_command(folder: Path | None, chosen: tuple[str, ...], html: Path | None, as_json: bool) -> None:
    """Report on scored forecasts: ranks, skill, calibration, and who is better.

    Real and simulated questions never share a figure. The ledger is only read; a verifier may be using it.
    """
    from openfingym.reports.forecasts import forecast_report

    with TerminalProgress(enabled=not as_json) as show:
        show("reading forecasts")
        found = forecast_report(folder_of(folder), where=parse_where(chosen))
        if html is not None:
            from openfingym.files.whole import write_text

            write_text(html, found.html(), errors="backslashreplace")
    if as_json:
        print_json(found.to_dict())
        return
    print_forecast_report(found)
    if html is not None:
        click.echo(html.absolute())


def parse_where(chosen: Sequence[str]) -> dict[str, list[str]]:
    """Names by column, from ``COLUMN=NAME`` texts.

    Raises:
        UsageError: one has no equals sign.
    """
    found: dict[str, list[str]] = {}
    for text in chosen:
        column, equals, name = text.partition("=")
        if not equals:
            raise UsageError(f"--where {text!r} names no column; write it as in --where category=rates")
        found.setdefault(column, []).append(name)
    return found


def print_forecast_report(found: ForecastReport) -> None:
    """Print the ranks of each track."""
    for track in found.tracks:
        _show_track(track)
    several = f", {found.attempts:,} of them repeated" if found.attempts else ""
    click.echo(
        f"{found.forecasts:,} scored forecasts{several} of {found.questions:,} questions by {found.forecasters:,} "
        "forecasters"
    )


COLUMNS = ("rank", "forecaster", "adjusted loss", "skill", "vs market", "price weight", "accuracy", "ECE", "answered")


def _show_track(track: Track) -> None:
    from openfingym.reports.forecasts.page import TITLES, blocks_text, labels
    from openfingym.reports.statistics import FEWEST_UNITS

    title, loss = TITLES[track.name]
    kind = "SIMULATED" if track.data_kind == "simulated" else "Real"
    names, rows = labels(track), {row.forecaster: row for row in track.rows}
    for group in track.groups:
        lines = []
        for one in group:
            row = rows[one.forecaster]
            lines.append(
                (
                    "-" if one.rank is None else f"{one.rank}{'=' if one.tied else ''}",
                    one_line(names[one.forecaster], LONGEST),
                    _number(one.adjusted.value, ".4f")
                    + (f" [{one.adjusted.low:.4f}, {one.adjusted.high:.4f}]" if one.adjusted.low is not None else ""),
                    _number(row.figures.skill, "+.3f"),
                    _number(row.figures.market_skill, "+.3f"),
                    _number(row.price_weight.value, "+.2f"),
                    _number(row.figures.accuracy, ".1%"),
                    _number(None if row.calibration is None else row.calibration.ece, ".3f"),
                    f"{row.figures.questions:,.0f} of {one.asked:,}",
                )
            )
        print_table(f"{kind}: {title.lower()}", COLUMNS, lines, right=COLUMNS[2:])
    click.echo(f"{track.forecasts:,} forecasts of {track.questions:,} questions in {blocks_text(track)}. {loss}")
    told = sum(one.verdict in {"better", "worse"} for one in track.pairs)
    if track.pairs:
        click.echo(f"{told} of {len(track.pairs)} pairs can be told apart (Diebold-Mariano, Holm-adjusted, 5 %).")
    if len(track.groups) > 1:
        click.echo("Forecasters of different tables share no questions and cannot be compared.")
    if any(one.rank is None for group in track.groups for one in group):
        click.echo(f"-: fewer than {max(FEWEST_UNITS, 3 * track.overlap)} rounds or weeks, too few to rank.")
    click.echo()


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
