"""LaTeX and Markdown: the figures of the tables, and names of strangers that are nothing but text."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pylatexenc.latexwalker import LatexMacroNode, LatexWalker

from openfingym.cli import main
from openfingym.reports import latex, markdown
from openfingym.reports.document import plain_line
from openfingym.reports.formatting import signed
from openfingym.reports.report import make_report
from openfingym.reports.tables import skill_table
from tests.openfingym.reports.made import APART, HOSTILE, failed, runs, scored, three_agents, write

NAMES = (
    HOSTILE,
    r"\input{/etc/passwd}",
    r"\write18{rm x} \end{tabular} \catcode`\%=0 %",
    "100% $x^2$ & #1 _a_ ~b {c} }{",
    "a|b`c`|| \\| \\",
    "line\nbreak\r\n\\end{document}",
    "[x] --- ''q'' ,, ?` !` <<>>",
    "*star **bold** __u__ ~~s~~ ![i](x) [l](http://e.org) <http://e.org>",
    "www.evil.org http://evil.org a@b.c :smile: &lt; &#60;",
    "- item",
    "1. item",
    "# head",
    "| --- |",
    "中文 é ü ß ł ø ő Ž Đ \u202e rtl \x1b[31m \ud800 \u200b",
    "^^41^^5c \"quoted\" 'single'",
    "=cmd() +1 @x",
)
TOKENS = st.sampled_from([*"\\{}[]$&#^_~%|`*<>\"'!-+=.:@ \n\t", "--", "``", "$$", "[^", "\\\\", "é", "中", "\u202e"])
TEXTS = st.lists(TOKENS | st.text(max_size=2), max_size=12).map("".join)


def hostile():
    """A report in which every name is hostile, of agents that compare in all ways."""
    mine = [
        scored((0.3 if number % 2 else 1.5) + 0.01 * n, agent=name, model=name[::-1], task=task)
        for number, name in enumerate(NAMES)
        for n, task in enumerate(APART)
    ]
    return make_report(runs(*mine, failed("rejected", agent="fails", reason=HOSTILE)))


def rendered(text):
    """The tokens that a reader of Markdown with tables makes of a text."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def plain(inline):
    """What an inline token shows; raises if it is anything but text."""
    assert {child.type for child in inline.children} <= {"text", "text_special"}, inline.content
    return "".join(child.content for child in inline.children)


@given(TEXTS)
def test_in_markdown_a_name_is_text(name):
    tokens = rendered(f"| a | b |\n| :-- | --: |\n| {markdown.escaped(name)} | 1 |\n")
    cells = [plain(token) for token in tokens if token.type == "inline"]
    assert cells == ["a", "b", plain_line(name), "1"]
    # A note or a point of a list is a text as well.
    for line in (markdown.escaped(name), f"- {markdown.escaped(name)}"):
        kinds = {token.type for token in rendered(line)}
        assert kinds <= {"paragraph_open", "paragraph_close", "inline", "bullet_list_open", "bullet_list_close"} | {
            "list_item_open",
            "list_item_close",
        }, line
        assert [plain(token) for token in rendered(line) if token.type == "inline"] == [plain_line(name)] * bool(
            plain_line(name)
        )


HARMLESS = {"textbackslash", "textasciicircum", "textasciitilde", "textasciigrave", "textless", "textgreater"} | {
    *("textbar", "char", "textendash", "textemdash", "dots", "ss", "o", "O", "ae", "AE", "oe", "OE", "l", "L"),
    *"#$%&_{}`'^~=.\"uHvcr",
    *("times", "pm", "le", "ge", "downarrow", "uparrow", "rightarrow"),
}


def macros(nodes):
    for node in nodes or ():
        if isinstance(node, LatexMacroNode):
            yield node.macroname
        for inner in (getattr(node, "nodelist", None), getattr(getattr(node, "nodeargd", None), "argnlist", None)):
            yield from macros([one for one in inner or () if one is not None])


@given(TEXTS)
def test_in_latex_a_name_has_no_command_but_those_of_its_signs(name):
    text = latex.escaped(name)
    assert "\n" not in text
    assert text.isascii()
    nodes, _, _ = LatexWalker(text, tolerant_parsing=False).get_latex_nodes()
    assert set(macros(nodes)) <= HARMLESS
    # Nothing begins a comment, an alignment, a parameter or an argument of the row before.
    bare = re.sub(r"\\.", "", text)
    assert not set("%&#~^_") & set(bare)
    assert not text.startswith(("[", "*"))


def test_accents_and_signs_are_written_as_latex_does():
    assert latex.escaped("é Ž ő ß ł – … ↓") == r"\'{e} \v{Z} \H{o} \ss{} \l{} \textendash{} \dots{} $\downarrow$"
    assert latex.escaped("中") == r"\textless{}U+4E2D\textgreater{}"
    assert latex.escaped("--- ''") == "-{}-{}- '{}'"


def test_both_have_the_figures_of_the_table_and_bold_for_the_best():
    report = make_report(runs(*three_agents(model="m")))
    table = skill_table(report, "real")
    tex, text = report.to_latex(), report.to_markdown()
    for row in table.rows:
        skill, ends = row[table.columns.index("skill")], row[table.columns.index("95 % interval")]
        strong = row[0] != "bad"
        assert f"| **{row[0]}** |" in text if strong else f"| {row[0]} |" in text
        assert (f"**{skill}** | **{ends}**" if strong else f"{skill} | {ends}") in text.replace("\\", "")
        minus = [figure.replace("-", "$-$") for figure in (skill, ends)]
        assert " & ".join(rf"\textbf{{{one}}}" if strong else one for one in minus) in tex
    assert signed(report.cells[0].skill.value) in tex.replace("$-$", "-")
    assert "good / m is better than bad / m" in text.replace("\\", "")
    assert "Bold: not told apart from the best." in tex
    assert tex.count(r"\toprule") == tex.count(r"\bottomrule") == 2
    assert r"\end{itemize}" in tex
    assert "fx-forecast" in report.to_latex(each_task=True)
    assert "fx-forecast" not in tex


def test_cautions_and_damage_are_said_in_both():
    report = make_report(runs(scored(0.9, relative_interval=(0.8, 1.2), flags=("probing",))))
    for text in (report.to_latex(), report.to_markdown()):
        assert text.count("Beware: ") == len(report.cautions) > 0
        assert "1 runs, 0 of 1 scores backed by a receipt" in text


def test_a_hostile_report_in_markdown_has_the_shape_of_a_harmless_one():
    tokens = rendered(hostile().to_markdown(each_task=True))
    allowed = {"heading", "table", "thead", "tbody", "tr", "th", "td", "paragraph", "bullet_list", "list_item"}
    assert {re.sub("_(open|close)$", "", token.type) for token in tokens} == allowed | {"inline"}
    kinds = {child.type for token in tokens if token.type == "inline" for child in token.children}
    assert kinds <= {"text", "text_special", "strong_open", "strong_close"}
    sizes = [len(row) for row in rows(tokens)]
    assert len(set(sizes)) < 5


def rows(tokens):
    row = None
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type in {"td_open", "th_open"}:
            row.append(token)
        elif token.type == "tr_close":
            yield row


def test_a_hostile_report_compiles(tmp_path):
    engine = shutil.which("pdflatex")
    source = hostile().to_latex(each_task=True)
    for environment in ("table", "tabular", "itemize"):
        assert len(re.findall(rf"\\begin{{{environment}}}", source)) == len(
            re.findall(rf"\\end{{{environment}}}", source)
        )
    LatexWalker(source, tolerant_parsing=False).get_latex_nodes()
    if engine is None or not shutil.which("kpsewhich"):
        pytest.skip("no LaTeX on this machine (Debian and Ubuntu: texlive-latex-base and texlive-latex-recommended)")
    file = tmp_path / "t.tex"
    file.write_text(
        f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{source}\\end{{document}}\n"
    )
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", file.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "t.pdf").is_file()


def test_the_command_prints_one_of_them(tmp_path, monkeypatch, capsys):
    write(tmp_path / "runs", *(scored(0.5, agent=agent, task=task) for agent in "ab" for task in APART[:6]))

    def printed(*arguments):
        monkeypatch.setattr("sys.argv", ["openfingym", "report", str(tmp_path / "runs"), *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    status, out, err = printed("--latex", "--tasks", "--csv", str(tmp_path / "t.csv"))
    assert (status, err) == (0, "")
    assert out.startswith("% 12 runs")
    assert out.rstrip().endswith(r"\end{itemize}")
    assert "fx-forecast" in out
    assert (tmp_path / "t.csv").is_file()
    assert printed("--markdown")[1].startswith("## Real data\n")
    for pair in (("--latex", "--markdown"), ("--latex", "--json"), ("--markdown", "--json")):
        status, _, err = printed(*pair)
        assert (status, "give one of them" in err) == (2, True)
