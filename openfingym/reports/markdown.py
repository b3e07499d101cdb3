"""A report as Markdown, with tables as GitHub and most other readers take them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openfingym.reports.document import origin_of, parts_of, plain_line, warnings_of

if TYPE_CHECKING:
    from openfingym.reports.report import Report
    from openfingym.reports.text_table import TextTable

_MARKUP = re.compile(r"[\\`*_{}\[\]#|$~@^]|:(?=//)|:(?=\w+:)|(?<=www)\.|^[-+=](?=[-\s])|^-$|^\d+(?=[.)]\s)")
"""Signs that are markup for some readers; a backslash makes them plain. A dash or a number may begin a list."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def to_markdown(report: Report, *, each_task: bool = False) -> str:
    """A report as Markdown: for each kind of data the tables, and the comparisons in words.

    Args:
        report: the report, whose names may be a stranger's: nothing in them is markup.
        each_task: whether there is a table of every task too.
    """
    blocks: list[str] = []
    for part in parts_of(report, each_task=each_task):
        blocks.append(f"## {escaped(part.title)}")
        for table in part.tables:
            blocks += [f"### {escaped(table.title)}", _table(table)]
            blocks += [escaped(table.note)] if table.note else []
        blocks += _list(part.sentences)
    blocks += _list([f"Beware: {text}" for text in warnings_of(report)])
    return "\n\n".join([*blocks, escaped(origin_of(report))]) + "\n"


def escaped(text: str) -> str:
    """A text on one line in which nothing is markup."""
    line = "".join(_ENTITIES.get(sign, sign) for sign in plain_line(text))
    return _MARKUP.sub(lambda match: f"\\{match[0]}" if not match[0].isdigit() else f"{match[0]}\\", line)


def _list(texts: tuple[str, ...] | list[str]) -> list[str]:
    """A list as one block; no block where there is nothing to list."""
    return ["\n".join(f"- {escaped(text)}" for text in texts)] if texts else []


def _table(table: TextTable) -> str:
    """A table whose columns of figures are aligned right."""
    marks = [":--" if place < table.left else "--:" for place in range(len(table.columns))]
    lines = [_line([escaped(name) for name in table.columns]), _line(marks)]
    for place, row in enumerate(table.rows):
        cells = [escaped(text) for text in row]
        lines.append(_line([f"**{cell}**" if place in table.strong and cell else cell for cell in cells]))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
