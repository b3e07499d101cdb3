"""What a report has in every form that is read as a document: its tables by kind of data, sentences and cautions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.reports import tables
from openfingym.reports.text_table import TextTable, kinds_of
from openfingym.results.notebook import data_name
from openfingym.version import __version__

if TYPE_CHECKING:
    from openfingym.reports.report import Report

IN_DOCUMENTS = ("skill", "reward", "paper")
"""Names of the tables that LaTeX and Markdown have."""
DETAILS = ("if scored", "better", "no skill", "runs")
"""Columns that they leave out: the terminal, the page and the CSV have them."""


@dataclass(frozen=True)
class ReportPart:
    """What is said about data of one kind."""

    data_kind: str
    """The kind of data, such as ``real``."""
    title: str
    """The kind of data as a heading."""
    tables: tuple[TextTable, ...]
    """The tables, each with a note of its own."""
    sentences: tuple[str, ...]
    """The comparisons in words."""


def parts_of(report: Report, *, each_task: bool = False) -> list[ReportPart]:
    """The parts of a report, one for each kind of data.

    Args:
        report: the report.
        each_task: whether there is a table of every task too.
    """
    names = (*IN_DOCUMENTS, *(("tasks",) if each_task else ()))
    parts = []
    for kind in kinds_of(report):
        shown = [_plain(table) for table in tables.tables_of(report, kind, names)]
        if report.questions is not None:
            shown += [section.text() for section in report.questions.of(kind)]
        sentences, rest = tables.comparisons_in_words(report, kind)
        name = data_name(kind)
        title = f"{name if name.isupper() else name.capitalize()} data"
        parts.append(ReportPart(kind, title, tuple(shown), tuple(text for text in (*sentences, rest) if text)))
    return parts


def warnings_of(report: Report) -> list[str]:
    """What the figures do not show, and what is in none of them."""
    damaged = [f"{len(report.damaged):,} damaged runs are in no figure."] if report.damaged else []
    remarks = report.questions.remarks if report.questions is not None else ()
    return [*(caution.sentence for caution in report.cautions), *remarks, *damaged]


def origin_of(report: Report) -> str:
    """How many runs a report is about, how many are proved, and when it was made."""
    made = f"; made with OpenFinGym {__version__}" + (f" on {report.made_at}" if report.made_at else "")
    return f"{report.runs:,} runs, {report.backed:,} of {report.scored:,} scores backed by a receipt{made}"


def plain_line(text: str) -> str:
    """A text on one line, in which whatever is invisible or changes the direction of writing is shown by its code."""
    line = " ".join(text.split())
    return "".join(sign if sign.isprintable() else f"<U+{ord(sign):04X}>" for sign in line)


def _plain(table: TextTable) -> TextTable:
    """A table without details, and without a column of runs left out where there are none."""
    empty = [
        name
        for place, name in enumerate(table.columns)
        if name == "left out" and not any(row[place] for row in table.rows)
    ]
    return table.without((*DETAILS, *empty))
