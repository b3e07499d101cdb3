"""A report as LaTeX tables in the style of the package booktabs, to be put into a paper."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openfingym.reports.document import origin_of, parts_of, plain_line, warnings_of

if TYPE_CHECKING:
    from openfingym.reports.report import Report
    from openfingym.reports.text_table import TextTable

_SIGNS = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    # Behind the end of a row these would be arguments of it.
    **{sign: f"{{{sign}}}" for sign in "[]*"},
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
    "−": "$-$",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\dots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    "→": r"$\rightarrow$",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
}
"""How LaTeX writes a sign, in any encoding of fonts."""
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
"""The commands of accents, by the combining sign."""
_LIGATURES = re.compile(r"([-',])(?=\1)")
"""Signs that two of them would be another sign."""
_MINUS = re.compile(r"(?<![\w.-])-(?=\d)")


def to_latex(report: Report, *, each_task: bool = False) -> str:
    """A report as LaTeX: a table for each of its tables, and the comparisons in words as lists.

    It needs the package booktabs alone, and any engine. Rows in bold were not told apart from the best.

    Args:
        report: the report, whose names may be a stranger's: nothing in them is a command.
        each_task: whether there is a table of every task too.
    """
    blocks = [f"% {escaped(origin_of(report))}\n% It needs \\usepackage{{booktabs}}."]
    for number, part in enumerate(parts_of(report, each_task=each_task), 1):
        for place, table in enumerate(part.tables, 1):
            blocks.append(_table(table, part.title, f"tab:report-{number}-{place}"))
        blocks += _list(part.sentences)
    blocks += _list([f"Beware: {text}" for text in warnings_of(report)])
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """A text on one line in which nothing is a command; a letter that plain LaTeX lacks is shown by its code."""
    return _LIGATURES.sub(r"\1{}", "".join(map(_sign, plain_line(text))))


def _sign(sign: str) -> str:
    """A sign as LaTeX writes it."""
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign.isascii():
        return sign
    base, *marks = list(unicodedata.normalize("NFD", sign))
    if base.isascii() and base.isalpha() and len(marks) == 1 and marks[0] in _ACCENTS:
        return f"\\{_ACCENTS[marks[0]]}{{{base}}}"
    return rf"\textless{{}}U+{ord(sign):04X}\textgreater{{}}"


def _figure(text: str) -> str:
    """A cell with a figure, in which a hyphen before a digit is a minus sign."""
    return escaped(_MINUS.sub("−", text))


def _table(table: TextTable, heading: str, name: str) -> str:
    """A floating table, whose names are aligned left and figures right."""
    kinds = ["l" if place < table.left else "r" for place in range(len(table.columns))]
    lines = [_line([escaped(column) for column in table.columns])]
    for place, row in enumerate(table.rows):
        cells = [escaped(text) if n < table.left else _figure(text) for n, text in enumerate(row)]
        lines.append(_line([rf"\textbf{{{cell}}}" if place in table.strong and cell else cell for cell in cells]))
    bold = " Bold: not told apart from the best." if table.strong else ""
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escaped(f'{table.title}. {heading}.{bold} {table.note}'.strip())}}}",
            rf"  \label{{{name}}}",
            rf"  \begin{{tabular}}{{{''.join(kinds)}}}",
            r"    \toprule",
            lines[0],
            r"    \midrule",
            *lines[1:],
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _line(cells: Sequence[str]) -> str:
    return rf"    {' & '.join(cells)} \\"


def _list(texts: Sequence[str]) -> list[str]:
    """A list as one block; no block where there is nothing to list."""
    if not texts:
        return []
    return ["\n".join([r"\begin{itemize}", *(rf"  \item {escaped(text)}" for text in texts), r"\end{itemize}"])]
