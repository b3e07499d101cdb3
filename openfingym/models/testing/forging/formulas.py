"""Formulas of papers, in LaTeX or plain signs, as trees: what they say of a truth ``y`` and a forecast ``f``."""

from __future__ import annotations

import re
from dataclasses import dataclass

TRUTH = frozenset({"y", "r", "s", "x", "z", "a", "Y", "R"})
FORECAST = frozenset({"f", "yhat", "rhat", "shat", "xhat", "zhat", "ahat", "p", "F"})
COUNT = frozenset({"n", "N", "m", "M", "T", "H", "K"})
ERROR = frozenset({"e", "varepsilon", "epsilon"})
FUNCTIONS = frozenset({"sqrt", "abs", "log", "exp", "sign", "ln"})
OVER_ALL = frozenset({"sum", "mean", "max"})


class FormulaError(ValueError):
    """The formula says too little, or what these rules do not know."""


@dataclass(frozen=True)
class Node:
    """A part of a formula."""

    kind: str
    """``number``, ``y``, ``f``, ``before`` (f one step earlier), ``count``, ``+ - * / ^``, ``neg``, a function,
    ``sum``, ``mean``, ``max``, or ``= != < > <= >=`` within an indicator."""
    parts: tuple[Node, ...] = ()
    value: float = 0.0

    def has(self, *kinds: str) -> bool:
        """Whether it, or a part of it, is of a kind."""
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
    """Signs of LaTeX as plain ones."""
    for pattern, put in _LATEX:
        text = re.sub(pattern, put, text)
    # A step earlier, before indices go: f_{h-1}, f(h-1), f[t-1].
    text = re.sub(r"\bf(?:orecast)?\s*(?:_\s*\{|\(|\[)\s*[a-z]\s*-\s*1\s*[\)\]\}]", " before ", text)
    text = re.sub(r"\b([yfrs])\s*[\(\[]\s*[a-z](?:\s*,\s*[a-z])*\s*[\)\]]", r" \1 ", text)
    text = re.sub(r"(sum|mean|max)\s*(?:_\s*(?:\{[^{}]*\}|\w))?\s*(?:\^\s*(?:\{[^{}]*\}|\w))?", r" \1 ", text)
    text = _INDEX.sub(" ", text)
    while (changed := _BRACED.sub(r" ((\1)/(\2)) ", text)) != text:
        text = changed
    return text


def formula_of(name: str, text: str) -> str:
    """The right side of the formula of a name, where a text holds several; else the whole text.

    Raises:
        FormulaError: it holds several, and none of that name.
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
    """Whether a text has a formula of that name, or one without a name."""
    sides = _sides(text)[1]
    return not sides or any(_is_of(name, side[1]) for side in sides)


def _sides(text: str) -> tuple[str, list[re.Match[str]]]:
    """The text, and where in it a name stands before its formula."""
    plain = re.sub(r"\\mathrm\{(\w+)\}", r"\1", text)
    return plain, list(re.finditer(r"(?<![A-Za-z_^({])([A-Z][A-Za-z0-9]*)\s*(?:\^2)?\s*=", plain))


def _is_of(name: str, short: str) -> bool:
    words = re.findall(r"[A-Za-z0-9]+", name.lower())
    return short.lower() in {name.lower(), *words, "".join(word[0] for word in words)}


def parse(text: str) -> Node:
    """The tree of a formula.

    Raises:
        FormulaError: these rules cannot read it.
    """
    said = _phrases(normalised(text))
    tokens = [match.group().strip() for match in _TOKEN.finditer(said)]
    parser = _Parser(tokens)
    tree = parser.sum()
    if not tree.has("f", "before"):
        raise FormulaError("it says nothing of a forecast")
    if not tree.has(*OVER_ALL):
        raise FormulaError("it says nothing of a sum or a mean over cells")
    return tree


def _phrases(text: str) -> str:
    text = re.sub(r"mean over [a-zA-Z]\s*=\s*\w+\.\.\s*\w+ of", " mean ", text)
    text = re.sub(r"mean over \w+(?:,? (?:and )?\w+)* of", " mean ", text)
    text = re.sub(r"\b(?:average|E)\b(?=\s*[\[(|])", " mean ", text)
    return re.sub(r"sum over \w+(?: \w+)? of", " sum ", text)


class _Parser:
    """By recursive descent; what follows a whole formula (a full stop, words) is left out."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at = tokens, 0
        self._bars = 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, wanted: str = "") -> str:
        found = self.next
        if not found or (wanted and found != wanted):
            raise FormulaError(f"expected {wanted or 'more'}, found {found or 'the end'}")
        self._at += 1
        return found

    def sum(self) -> Node:
        found = self.product()
        while self.next in {"+", "-"}:
            found = Node(self.take(), (found, self.product()))
        return found

    def product(self) -> Node:
        found = self.power()
        while True:
            if self.next in {"*", "/"}:
                found = Node(self.take(), (found, self.power()))
            elif self._begins():
                found = Node("*", (found, self.power()))
            else:
                return found

    def _begins(self) -> bool:
        if self.next == "|":
            return self._bars == 0
        known = FUNCTIONS | OVER_ALL | TRUTH | FORECAST | COUNT | ERROR | {"before", "(", "[", "{"}
        return self.next in known or self.next[:1].isdigit()

    def power(self) -> Node:
        if self.next == "-":
            self.take()
            return Node("neg", (self.power(),))
        found = self.atom()
        while self.next == "^":
            self.take()
            sign = -1.0 if self.next == "-" and self.take() else 1.0
            exponent = self.atom()
            found = Node("^", (found, Node("neg", (exponent,)) if sign < 0 else exponent))
        return found

    def atom(self) -> Node:
        sign = self.take()
        closing = {"(": ")", "[": "]", "{": "}"}
        if sign == "1" and self.next in closing and self._condition():
            return self.indicator()
        if sign[0].isdigit():
            return Node("number", value=float(sign))
        if sign in closing:
            bars, self._bars = self._bars, 0
            found = self.sum()
            self.take(closing[sign])
            self._bars = bars
            return found
        if sign == "|":
            self._bars += 1
            found = self.sum()
            self.take("|")
            self._bars -= 1
            return Node("abs", (found,))
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
        """What is summed: a product, up to a division by what is a number over all cells."""
        found = self.power()
        while True:
            if self.next == "*" or self._begins():
                if self.next == "*":
                    self.take()
                found = Node("*", (found, self.power()))
            elif self.next == "/":
                before = self._at
                self.take()
                under = self.power()
                if under.has("count", *OVER_ALL) or not under.has("y", "f"):
                    self._at = before
                    return found
                found = Node("/", (found, under))
            else:
                return found

    def _condition(self) -> bool:
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
