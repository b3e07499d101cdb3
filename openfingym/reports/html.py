"""The page of a report: one HTML file with everything in it, which loads nothing and runs nothing."""

from __future__ import annotations

from html import escape
from importlib import resources

from openfingym.reports import tables
from openfingym.reports.cells import family_order, label
from openfingym.reports.figures import cost_scatter, forest, heat_map, scrolled
from openfingym.reports.page import document, kind_notice
from openfingym.reports.report import Report
from openfingym.reports.tables import TextTable, interval, percent, strength

SENTENCES = 10
"""Comparisons said in words; all are in the table."""
KINDS = {
    "real": "Real data.",
    "simulated": "SIMULATED data: drawn by seeded simulators, not observed.",
    "specified": "Synthetic data, as its source defines it.",
}
DAMAGED = 20
"""Damaged folders named."""


def render(report: Report) -> str:
    """The page of ``report``: a self-contained HTML document."""
    kinds = tables.kinds_of(report)
    sections = "".join(_kind(report, kind) for kind in kinds)
    style = (resources.files("openfingym") / "reports" / "report.css").read_text(encoding="utf-8")
    return document("OpenFinGym report", f"<main>{_header(report, kinds)}{sections}{_footer(report)}</main>", style)


def _header(report: Report, kinds: list[str]) -> str:
    rows = len({cell.row for cell in report.cells})
    counts = [cell.counts for cell in report.tasks]
    facts = {
        "Rollouts": f"{report.runs:,}",
        "Scored": f"{sum(one.scored for one in counts):,}",
        "Rejected": f"{sum(one.rejected for one in counts):,}",
        "Errors": f"{sum(one.error for one in counts):,}, ours; in no figure",
        "Deferred": f"{sum(one.deferred for one in counts):,}",
        "Void": f"{sum(one.void for one in counts):,}",
        "Tasks": f"{len({cell.task for cell in report.tasks}):,}",
        "Data": ", ".join(kinds) or "none",
        "Copies": f"{report.copies:,}, left out" if report.copies else "",
    }
    lines = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items() if text)
    noun, of = (report.by[0], "") if len(report.by) == 1 else ("combination", f" of {' and '.join(report.by)}")
    what = f"{rows} {noun}{'s' * (rows != 1)}{of}"
    return f'<header><h1>Report <span>on {what}</span></h1><dl class="facts">{lines}</dl>{_warnings(report)}</header>'


def _warnings(report: Report) -> str:
    beware = "".join(f"<li>{escape(one.sentence)}</li>" for one in report.cautions)
    found = f'<ul class="kind unknown cautions">{beware}</ul>' if beware else ""
    if not report.damaged:
        return found
    named = "".join(f"<li>{escape(one.reason)}</li>" for one in report.damaged[:DAMAGED])
    more = f"<li>and {len(report.damaged) - DAMAGED} more</li>" if len(report.damaged) > DAMAGED else ""
    return f'{found}<p class="kind unknown">{len(report.damaged)} damaged runs are in no figure.</p><ul class="note">{named}{more}</ul>'


def _kind(report: Report, kind: str) -> str:
    best = tables.overall(report, kind)
    rank = {cell.row: number for number, cell in enumerate(best)}
    cells = sorted((cell for cell in report.cells if cell.data_kind == kind), key=lambda cell: rank[cell.row])
    tasks = [cell for cell in report.tasks if cell.data_kind == kind]
    shown = (tables.pass_table(report, kind), tables.cost_table(report, kind), tables.boundary_table(report, kind))
    folded = (
        tables.skill_table(report, kind),
        tables.comparison_table(report, kind),
        tables.reason_table(report, kind),
        tables.task_table(report, kind),
    )
    return "".join(
        [
            f'<article class="data">{kind_notice(kind, KINDS)}',
            _headline(report, kind),
            forest(cells),
            _plain(tables.paper_table(report, kind)),
            _sentences(report, kind),
            heat_map(tasks, [cell.row for cell in best]),
            cost_scatter(best),
            *(_plain(table) for table in shown if table is not None),
            *(f"<details><summary>{escape(table.title)}</summary>{_body(table)}</details>" for table in folded if table is not None),
            "</article>",
        ]
    )


def _headline(report: Report, kind: str) -> str:
    """Skill by row and family; the column over all is what rows are ordered by."""
    cells = {(cell.row, cell.family): cell for cell in report.cells if cell.data_kind == kind}
    families = sorted({family for _, family in cells}, key=family_order)
    rows = []
    for best in tables.overall(report, kind):
        texts = []
        for family in families:
            cell = cells.get((best.row, family))
            if cell is None:
                texts.append("<td></td>")
                continue
            of = f"{cell.tasks} task{'' if cell.tasks == 1 else 's'}"
            under = f"{interval(cell.skill)}, {of}" if cell.skill.value is not None else of
            runs = f"{percent(cell.counts.success)} of {cell.counts.judged} scored"
            if cell.no_skill:
                runs += f"; no skill shown in {percent(cell.no_skill)}"
            said = f"<strong>{strength(cell)}</strong>" if cell.skill.enough else f'<span class="lacking">{strength(cell)}</span>'
            texts.append(f"<td>{said}<small>{under}</small><small>{runs}</small></td>".replace("-", "−"))
        rows.append(f'<tr><th scope="row">{escape(label(best.row))}</th>{"".join(texts)}</tr>')
    heads = "".join(f'<th scope="col">{escape(tables.family_name(family))}</th>' for family in families)
    head = f"<thead><tr><td></td>{heads}</tr></thead>"
    table = scrolled("Skill against the baseline", f'<table class="headline">{head}<tbody>{"".join(rows)}</tbody></table>')
    note = tables.skill_table(report, kind).note
    return f'<section><h2>Skill against the baseline</h2>{table}<p class="note">{escape(note)}</p></section>'


def _sentences(report: Report, kind: str) -> str:
    sentences, rest = tables.said([one for one in report.comparisons if one.data_kind == kind], SENTENCES)
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    remark = f'<p class="note">{rest}</p>' if rest else ""
    return f'<section><h2>Who is better</h2><ul class="sentences">{items}</ul>{remark}</section>'


def _plain(table: TextTable) -> str:
    return f"<section><h2>{escape(table.title)}</h2>{_body(table)}</section>"


def _body(table: TextTable) -> str:
    heads = "".join(f'<th scope="col"{_name(n, table)}>{escape(text)}</th>' for n, text in enumerate(table.columns))
    rows = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row">{escape(text)}</th>' if n == 0 else f"<td{_name(n, table)}>{escape(_minus(text, n, table))}</td>"
            for n, text in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return scrolled(table.title, f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>") + note


def _name(column: int, table: TextTable) -> str:
    return ' class="name"' if column < table.left else ""


def _minus(text: str, column: int, table: TextTable) -> str:
    """A figure with the typographer's minus; names keep their hyphens."""
    return text if column < table.left or text == tables.DASH else text.replace("-", "−") if text[:1] in "+-" else text


def _footer(report: Report) -> str:
    said = (
        "Intervals: expanded percentile bootstrap over tasks, each with all its runs. Comparisons: paired sign-flip permutation tests over "
        f"tasks, adjusted by Holm's method. Random seed {report.seed}."
    )
    return f'<footer class="note">{said}</footer>'
