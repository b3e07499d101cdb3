"""``openfingym ledger report``: ranks and figures of scored forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.ledger_place import folder_of, folder_option
from openfingym.cli.options import isolated_option, json_option
from openfingym.cli.printable import one_line, say
from openfingym.cli.render import TerminalProgress, print_json, print_table
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.reports.forecasts import ForecastReport
    from openfingym.reports.forecasts.report import Track

LONGEST = 200
"""The most characters of a name that are shown."""


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
@isolated_option
@json_option("an object")
def report_command(
    folder: Path | None, chosen: tuple[str, ...], html: Path | None, isolated_only: bool, as_json: bool
) -> None:
    """Report on scored forecasts: ranks, skill, calibration, and who is better.

    Real and simulated questions never share a figure. The ledger is only read; a verifier may be using it.
    """
    from openfingym.reports.forecasts import forecast_report
    from openfingym.rounds.book import series_folders

    with TerminalProgress(enabled=not as_json) as show:
        show("reading forecasts")
        report = forecast_report(
            folder_of(folder), where=parse_where(chosen), folders=series_folders(), isolated_only=isolated_only
        )
        if html is not None:
            from openfingym.files.whole import write_text

            write_text(html, report.html(), errors="backslashreplace")
    if as_json:
        print_json(report.to_dict())
        return
    print_forecast_report(report)
    if html is not None:
        say(html.absolute())


def parse_where(chosen: Sequence[str]) -> dict[str, list[str]]:
    """Names by column.

    Args:
        chosen: texts of the form ``COLUMN=NAME``.

    Raises:
        UsageError: a text has no equals sign.
    """
    names: dict[str, list[str]] = {}
    for text in chosen:
        column, equals, name = text.partition("=")
        if not equals:
            raise UsageError(f"--where {text!r} names no column; write it as in --where category=rates")
        names.setdefault(column, []).append(name)
    return names


def print_forecast_report(report: ForecastReport) -> None:
    """Print the ranks of each track, what ran in isolation, and the number of forecasts."""
    from openfingym.reports.forecasts.page import board_notes

    for track in report.tracks:
        _show_track(track)
    for sentence in board_notes(report):
        say(one_line(sentence, 1000))
    several = f", {report.attempts:,} of them repeated" if report.attempts else ""
    say(
        f"{report.forecasts:,} scored forecasts{several} of {report.questions:,} questions by {report.forecasters:,} "
        "forecasters"
    )


COLUMNS = ("rank", "forecaster", "adjusted loss", "skill", "vs market", "price weight", "accuracy", "ECE", "answered")


def _show_track(track: Track) -> None:
    """Print the tables of a track, one for each group of forecasters that share questions, and what they mean."""
    from openfingym.reports.forecasts.page import TITLES, blocks_text, labels
    from openfingym.reports.statistics import FEWEST_UNITS

    title, loss = TITLES[track.name]
    kind = {"simulated": "SIMULATED", "replayed": "REPLAYED"}.get(track.data_kind, "Real")
    names, rows = labels(track), {row.forecaster: row for row in track.rows}
    for group in track.groups:
        lines = []
        for standing in group:
            row, adjusted = rows[standing.forecaster], standing.adjusted
            lines.append(
                (
                    "-" if standing.rank is None else f"{standing.rank}{'=' if standing.tied else ''}",
                    one_line(names[standing.forecaster], LONGEST),
                    _number(adjusted.value, ".4f")
                    + (f" [{adjusted.low:.4f}, {adjusted.high:.4f}]" if adjusted.low is not None else ""),
                    _number(row.figures.skill, "+.3f"),
                    _number(row.figures.market_skill, "+.3f"),
                    _number(row.price_weight.value, "+.2f"),
                    _number(row.figures.accuracy, ".1%"),
                    _number(None if row.calibration is None else row.calibration.ece, ".3f"),
                    f"{row.figures.questions:,.0f} of {standing.asked:,}",
                )
            )
        print_table(f"{kind}: {title.lower()}", COLUMNS, lines, right=COLUMNS[2:])
    say(f"{track.forecasts:,} forecasts of {track.questions:,} questions in {blocks_text(track)}. {loss}")
    apart = sum(pair.verdict in {"better", "worse"} for pair in track.pairs)
    if track.pairs:
        say(f"{apart} of {len(track.pairs)} pairs can be told apart (Diebold-Mariano, Holm-adjusted, 5 %).")
    if len(track.groups) > 1:
        say("Forecasters of different tables share no questions and cannot be compared.")
    if any(standing.rank is None for group in track.groups for standing in group):
        say(f"-: fewer than {max(FEWEST_UNITS, 3 * track.overlap)} rounds or weeks, too few to rank.")
    say()


def _number(value: float | None, form: str) -> str:
    """A number in a form of :func:`format`; a dash for None."""
    return "-" if value is None else format(value, form)
