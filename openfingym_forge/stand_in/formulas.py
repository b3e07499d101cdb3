"""Formulas of papers, in LaTeX or plain signs, as trees: a loss of a truth ``y`` and a forecast ``f``."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What letters and words mean in the formulas of forecasting papers.
TRUTH = frozenset({"y", "r", "s", "x", "z", "a", "Y", "R"})
FORECAST = frozenset({"f", "yhat", "rhat", "shat", "xhat", "zhat", "ahat", "p", "F"})
COUNT = frozenset({"n", "N", "m", "M", "T", "H", "K"})
ERROR = frozenset({"e", "varepsilon", "epsilon"})
FUNCTIONS = frozenset({"sqrt", "abs", "log", "exp", "sign", "ln"})
OVER_ALL = frozenset({"sum", "mean", "max"})
"""Functions over all cells: windows, steps and channels."""


class FormulaError(ValueError):
    """The formula says too little, or something that these rules do not know."""


@dataclass(frozen=True)
class Node:
    """A part of a formula."""

    kind: str
    """``number``, ``y``, ``f``, ``before`` (f one step earlier), ``count``, ``+ - * / ^``, ``neg``, a function,
    ``sum``, ``mean``, ``max``, or ``= != < > <= >=`` within an indicator."""
    parts: tuple[Node, ...] = ()
    value: float = 0.0

    def has(self, *kinds: str) -> bool:
        """Whether the node, or any below it, is of one of these kinds."""
        return self.kind in kinds or any(part.has(*kinds) for part in self.parts)


_LATEX = (
    (r"\\(?:left|right|bigl|bigr|Bigl|Bigr|big|Big|displaystyle|limits|,|;|!|quad|qquad)(?![A-Za-z])", " "),
    (r"\\(?:q?quad)", " "),
    (r"\\(?:mathrm|operatorname|text|mathit|mathbf|mathbb)\s*\{([^{}]*)\}", r" \1 "),
    (r"\\hat\s*\{?\s*([A-Za-z])\s*\}?", r" \1hat "),
    (r"\\(?:lvert|rvert|vert)(?![A-Za-z])|\\\|", "|"),
    (r"\\frac\s*(\d)\s*(\d|[A-Za-z])", r" (\1/\2) "),
    (r"\\(?:neq|ne)(?![A-Za-z])|≠", "!="),
    (r"\\(?:leq?)(?![A-Za-z])|≤", "<="),
    (r"\\(?:geq?)(?![A-Za-z])|≥", ">="),
    (r"\\(?:cdot|times)(?![A-Za-z])|[·×]", "*"),
    (r"∑|Σ", " sum "),
    (r"√", " sqrt "),
    (r"−|–", "-"),
    (r"ŷ", " yhat "),
    (r"²", "^2"),
    (r"\\(?:sgn|sign)|\bsgn\b", " sign "),
    (r"\\([A-Za-z]+)", r" \1 "),
)
_BRACED = re.compile(r"frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_INDEX = re.compile(r"_\s*(\{[^{}]*\}|[A-Za-z0-9]+)")
_TOKEN = re.compile(r"\s*(?:(\d+\.\d+|\d+)|([A-Za-z]+)|(<=|>=|!=|[-+*/^()\[\]{}|=<>,]))")


def normalised(text: str) -> str:
    """A formula with plain signs in the place of LaTeX's, and without indices and bounds."""
    for pattern, plain in _LATEX:
        text = re.sub(pattern, plain, text)
    # The forecast one step earlier, f_{h-1}, f(h-1) or f[t-1], is read before indices are dropped.
    text = re.sub(r"\bf(?:orecast)?\s*(?:_\s*\{|\(|\[)\s*[a-z]\s*-\s*1\s*[\)\]\}]", " before ", text)
    text = re.sub(r"\b([yfrs])\s*[\(\[]\s*[a-z](?:\s*,\s*[a-z])*\s*[\)\]]", r" \1 ", text)
    text = re.sub(r"(sum|mean|max)\s*(?:_\s*(?:\{[^{}]*\}|\w))?\s*(?:\^\s*(?:\{[^{}]*\}|\w))?", r" \1 ", text)
    text = _INDEX.sub(" ", text)
    # From the inside out: a fraction whose parts have no braces becomes one in brackets, and its surroundings follow.
    while (changed := _BRACED.sub(r" ((\1)/(\2)) ", text)) != text:
        text = changed
    return text


def formula_of(name: str, text: str) -> str:
    """The right side of a metric's formula, where a text holds several formulas; else the whole text.

    Args:
        name: name of the metric.
        text: text with one formula or more.

    Raises:
        FormulaError: the text holds several formulas, and none of that name.
    """
    plain, sides = _sides(text)
    if not sides:
        return plain
    chosen = next((side for side in sides if _is_of(name, side[1])), sides[0] if len(sides) == 1 else None)
    if chosen is None:
        raise FormulaError(f"none of the formulas is that of {name}")
    end = next((side.start() for side in sides if side.start() > chosen.start()), len(plain))
    return plain[chosen.end() : end]


def stated_by_name(name: str, text: str) -> bool:
    """Whether a text has a formula of that name, or formulas without names."""
    sides = _sides(text)[1]
    return not sides or any(_is_of(name, side[1]) for side in sides)


def _sides(text: str) -> tuple[str, list[re.Match[str]]]:
    """The text in plain letters, and a match for each place where a name and ``=`` stand before a formula."""
    plain = re.sub(r"\\mathrm\{(\w+)\}", r"\1", text)
    return plain, list(re.finditer(r"(?<![A-Za-z_^({])([A-Z][A-Za-z0-9]*)\s*(?:\^2)?\s*=", plain))


def _is_of(name: str, short: str) -> bool:
    """Whether a short name is the metric's: the whole of it, a word of it, or its initials."""
    words = re.findall(r"[A-Za-z0-9]+", name.lower())
    return short.lower() in {name.lower(), *words, "".join(word[0] for word in words)}


def parse(text: str) -> Node:
    """The tree of a formula.

    Raises:
        FormulaError: these rules cannot read the formula, or it is no loss of a forecast.
    """
    tokens = [match.group().strip() for match in _TOKEN.finditer(_with_signs(normalised(text)))]
    parser = _Parser(tokens)
    tree = parser.sum()
    if not tree.has("f", "before"):
        raise FormulaError("it says nothing of a forecast")
    if not tree.has(*OVER_ALL):
        raise FormulaError("it says nothing of a sum or a mean over cells")
    return tree


def _with_signs(text: str) -> str:
    """A formula with signs in the place of phrases such as "mean over i of"."""
    text = re.sub(r"mean over [a-zA-Z]\s*=\s*\w+\.\.\s*\w+ of", " mean ", text)
    text = re.sub(r"mean over \w+(?:,? (?:and )?\w+)* of", " mean ", text)
    text = re.sub(r"\b(?:average|E)\b(?=\s*[\[(|])", " mean ", text)
    return re.sub(r"sum over \w+(?: \w+)? of", " sum ", text)


class _Parser:
    """Reads a formula by recursive descent; what follows a whole formula (a full stop, words) is left out."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at = tokens, 0
        self._bars = 0
        """Absolute values that are open, in which a bar closes the innermost and opens none."""

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.next
        if not token or (wanted and token != wanted):
            raise FormulaError(f"expected {wanted or 'more'}, found {token or 'the end'}")
        self._at += 1
        return token

    def sum(self) -> Node:
        tree = self.product()
        while self.next in {"+", "-"}:
            tree = Node(self.take(), (tree, self.product()))
        return tree

    def product(self) -> Node:
        tree = self.power()
        while True:
            if self.next in {"*", "/"}:
                tree = Node(self.take(), (tree, self.power()))
            # Factors that stand beside each other are multiplied.
            elif self._begins():
                tree = Node("*", (tree, self.power()))
            else:
                return tree

    def _begins(self) -> bool:
        """Whether the next token begins a factor."""
        if self.next == "|":
            return self._bars == 0
        known = FUNCTIONS | OVER_ALL | TRUTH | FORECAST | COUNT | ERROR | {"before", "(", "[", "{"}
        return self.next in known or self.next[:1].isdigit()

    def power(self) -> Node:
        if self.next == "-":
            self.take()
            return Node("neg", (self.power(),))
        tree = self.atom()
        while self.next == "^":
            self.take()
            sign = -1.0 if self.next == "-" and self.take() else 1.0
            exponent = self.atom()
            tree = Node("^", (tree, Node("neg", (exponent,)) if sign < 0 else exponent))
        return tree

    def atom(self) -> Node:
        sign = self.take()
        closing = {"(": ")", "[": "]", "{": "}"}
        if sign == "1" and self.next in closing and self._condition():
            return self.indicator()
        if sign[0].isdigit():
            return Node("number", value=float(sign))
        if sign in closing:
            bars, self._bars = self._bars, 0
            tree = self.sum()
            self.take(closing[sign])
            self._bars = bars
            return tree
        if sign == "|":
            self._bars += 1
            tree = self.sum()
            self.take("|")
            self._bars -= 1
            return Node("abs", (tree,))
        if sign in FUNCTIONS:
            return Node({"ln": "log"}.get(sign, sign), (self.power(),))
        if sign in OVER_ALL:
            return Node(sign, (self.body(),))
        if sign in ERROR:
            return Node("-", (Node("y"), Node("f")))
        for names, kind in ((TRUTH, "y"), (FORECAST, "f"), (COUNT, "count"), ({"before"}, "before")):
            if sign in names:
                return Node(kind)
        raise FormulaError(f"what is {sign!r}?")

    def body(self) -> Node:
        """What is summed: a product, up to a division by what is the same for all cells, such as their number."""
        tree = self.power()
        while True:
            if self.next == "*" or self._begins():
                if self.next == "*":
                    self.take()
                tree = Node("*", (tree, self.power()))
            elif self.next == "/":
                before = self._at
                self.take()
                under = self.power()
                if under.has("count", *OVER_ALL) or not under.has("y", "f"):
                    self._at = before
                    return tree
                tree = Node("/", (tree, under))
            else:
                return tree

    def _condition(self) -> bool:
        """Whether the brackets that follow hold a comparison, so that the 1 before them is an indicator."""
        depth = 0
        for sign in self._tokens[self._at :]:
            depth += (sign in "([{") - (sign in ")]}")
            if depth == 0:
                return False
            if depth == 1 and sign in {"=", "!=", "<", ">", "<=", ">="}:
                return True
        return False

    def indicator(self) -> Node:
        closing = {"(": ")", "[": "]", "{": "}"}[self.take()]
        left = self.sum()
        compared = self.take()
        right = self.sum()
        self.take(closing)
        return Node(compared, (left, right))
