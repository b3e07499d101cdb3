"""Reading LaTeX that was written to keep its reader busy, or to have it give up."""

from __future__ import annotations

import time

import pytest

from openfingym_forge.papers import latex


@pytest.mark.parametrize(
    "opening", ["abstract", "table", "tabular}{ll", "table}\\begin{tabular", "thebibliography", "equation"]
)
def test_what_is_opened_and_never_closed_is_looked_for_once(opening: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latex, "_plain", str)  # another's reader, which takes seconds for as much text
    source = "A paper.\n\n" + f"\\begin{{{opening}}} x" * 1000 + "\n\n" + "a word and another " * 100_000
    started = time.process_time()
    assert next(block.text for block in latex.blocks(r"\begin{document}" + source)) == "A paper."
    # Looked for by every opening, the end takes a thousand times the text, 2 GB.
    assert time.process_time() - started < 5.0


def test_environments_are_told_from_what_stands_around_them() -> None:
    source = r"""\begin{document} Before.
\begin{align} is never closed, and
\begin{abstract} We forecast. \end{abstract}
\section{Data} Daily yields \begin{equation*} a = b \end{equation*} are used.
\begin{table*}\caption{Results}\begin{tabular}{lr} naive & 1.0 \\ ridge & 0.9 \end{tabular}\end{table*}
\begin{thebibliography} \bibitem{x} Nobody. \end{thebibliography}
After. \end{document} Nothing."""
    found = latex.blocks(source)
    assert [(one.kind, one.text) for one in found if one.kind == "heading"] == [
        ("heading", "Abstract"),
        ("heading", "1 Data"),
    ]
    texts = [one.text for one in found]
    assert "We forecast." in texts
    assert r"\[a = b\]" in texts
    assert [one.rows for one in found if one.kind == "table"] == [(("naive", "1.0"), ("ridge", "0.9"))]
    assert texts[-1] == "After."
    assert not any("Nobody" in text or "Nothing" in text for text in texts)
