"""Taking markup off an answer: LaTeX, HTML and Markdown are replaced by the plain signs that they stand for."""

from __future__ import annotations

import html
import re

_WRAPPERS = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf|tt|ord|bin|rel)|operatorname|underline|mbox|hbox|emph|bm|bold(?:symbol)?)"
    r"\s*\{([^{}]*)\}"
)
_FRACTION = re.compile(r"\\[dtc]?frac\s*(?:\{\s*([0-9.,]+)\s*\}\s*\{\s*([0-9.,]+)\s*\}|([0-9])\s*([0-9])(?![0-9]))")
_NESTED = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*"
_BOXED = re.compile(rf"\\(?:boxed|fbox)\s*\{{({_NESTED})\}}")
_COMMANDS = {
    "×": "times cdot ast",
    "≈": "approx sim simeq cong",
    "±": "pm",
    "≤": "leq le leqslant",
    "≥": "geq ge geqslant",
    "<": "lt",
    ">": "gt",
    "=": "eq",
    "→": "to rightarrow longrightarrow Rightarrow",
    "↓": "downarrow searrow",
    "↑": "uparrow nearrow",
    "€": "euro EUR",
    "£": "pounds",
    "¥": "yen",
    " ": "quad qquad thinspace medspace thickspace enspace space newline",
    "": "left right big Big bigl bigr displaystyle textstyle limits bf rm it",
}
_SIGN_OF = {command: sign for sign, commands in _COMMANDS.items() for command in commands.split()}
_COMMAND = re.compile(r"\\([A-Za-z]+)(?![A-Za-z])")
_MATH = re.compile(
    r"\$\$([^$\n]+)\$\$|\\\(|\\\)|\\\[|\\\]"
    r"|(?<![\w$\\])\$(?![\s$])((?:\\.|[^$\\\n])*?(?:\\.|[^$\\\s]))\$(?![\w$])"
)
"""Delimiters of mathematics. As in Markdown, no blank follows the first dollar sign or stands before the second one,
which distinguishes them from amounts."""
_SENTENCE = re.compile(r"(?<![\\A-Za-z])(?!million|billion|thousand|trillion|percent|basis|points)[A-Za-z]{4,}")
"""A word that stands between two amounts in dollars, and hardly between two delimiters."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED = re.compile(r"(?<=[0-9)}\]])([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_HTML_POWER = re.compile(r"<sup>\s*(?:&minus;)?([^<\s]*)\s*</sup>", re.IGNORECASE)
_HTML = re.compile(
    r"</?(?:b|strong|i|em|u|code|span|p|div|td|tr|th|li|ul|ol|sub|mark|small)(?:\s[^<>]*)?>", re.IGNORECASE
)
_MARKDOWN = re.compile(
    # Between two numbers, two stars are a power.
    r"(?!(?<=[0-9])\*\*\(?[+-]?[0-9]|(?<=[0-9] )\*\* \(?[+-]?[0-9])\*\*"
    r"|__|`+|^#{1,6}\s+|(?<=\n)#{1,6}\s+"
)
_ITALIC = re.compile(
    r"(?<![\w*])\*(?=[^\s*])([^*\n]+)(?<=\S)\*(?![\w*])|(?<![\w_])_(?=[^\s_])([^_\n]+)(?<=\S)_(?![\w_])"
)


def without_html(text: str) -> str:
    """A text with the signs that entities of HTML stand for, without its tags; a raised number is one behind ``^``."""
    if "<" in text:
        text = _HTML_POWER.sub(r"^\1", text)
        text = _HTML.sub("", re.sub(r"<br\s*/?>", "\n", text, flags=re.IGNORECASE))
    return html.unescape(text) if "&" in text and ";" in text else text


def without_latex(text: str) -> str:
    r"""A text without LaTeX: ``6.257 \times 10^{7}`` is ``6.257 × 10^{7}``, and a box is a final answer.

    Commands that stand for no sign are left, so that whoever reads a number beside one can tell that there is
    something unknown.
    """
    text = text.replace("{,}", ",").replace("{.}", ".").replace("{-}", "-").replace("{+}", "+").replace("\\!", "")
    text = _MATH.sub(_inside, text)
    text = re.sub(r"\\[,;:> ]", " ", text)
    for _ in range(3):
        text = _WRAPPERS.sub(r"\1", text)
    text = _FRACTION.sub(lambda match: f" {match[1] or match[3]}/{match[2] or match[4]}", text)
    text = re.sub(r"([-+]) (?=[0-9.,]+/[0-9])", r"\1", text)
    text = _COMMAND.sub(lambda match: _SIGN_OF.get(match[1], match[0]), text)
    text = re.sub(r"\\([$%_&#{}])", r"\1", text)
    # By convention of mathematical tests, a box holds the final answer. What follows it in its line may be its unit.
    return _BOXED.sub(r"\nFinal answer: \1", text)


def without_markdown(text: str) -> str:
    """A text without the signs of Markdown for bold and italic letters, code and headings."""
    text = re.sub(r"(?<=10)\*\*(?=\(?[+-]?[0-9]{1,2}(?![0-9*]))", "^", text)
    text = _MARKDOWN.sub("", text)
    return _ITALIC.sub(lambda match: match[1] or match[2], text)


def lowered(text: str) -> str:
    """A text with raised digits and signs as plain ones, behind ``^`` if they follow a number: 10⁷ is ``10^7``."""
    return _RAISED.sub(r"^\1", text).translate(_SUPERSCRIPTS)


def _inside(match: re.Match[str]) -> str:
    """What stands between two delimiters of mathematics; all of it, if they are rather two amounts in dollars."""
    if match[1] is not None:
        return match[1]
    if match[2] is None:
        return " "
    return match[0] if _SENTENCE.search(match[2]) or not any(map(str.isdigit, match[2])) else match[2]
