"""A report as HTML for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.reports import tables
from openfingym.reports.text_table import kinds_of
from openfingym.results.notebook import data_name, html_table

if TYPE_CHECKING:
    from openfingym.reports.report import Report


def report_html(report: Report) -> str:
    """The table of skill for each kind of data, with the comparisons in words and what the figures do not show."""
    parts = []
    for kind in kinds_of(report):
        table = tables.skill_table(report, kind)
        sentences, rest = tables.comparisons_in_words(report, kind)
        cautions = [caution.sentence for caution in report.cautions if caution.data_kind == kind]
        note = " ".join(text for text in (*sentences, rest, *cautions) if text)
        parts.append(html_table(table.columns, table.rows, title=f"{data_name(kind)} data: {table.title}", note=note))
    damaged = f"; {len(report.damaged):,} damaged runs are in no figure" if report.damaged else ""
    backed = f"; {report.backed:,} of {report.scored:,} scores are backed by a receipt"
    return "".join((*parts, f"<p>{report.runs:,} runs{damaged}{backed}</p>"))
