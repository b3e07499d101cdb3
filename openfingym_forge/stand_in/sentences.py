"""A paper's text as sentences, and the claims that are read from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# The end of a sentence, but not of an abbreviation.
_END = re.compile(
    r"(?<=[.;:!?])(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bal\.)(?<!\bapprox\.)"
    r"\s+(?=[A-Z\\(\[$])|\n\s*\n"
)
_HEADING = re.compile(
    r"^(?:#+\s*)?(?:(?:section\s+)?(?:\d+(?:\.\d+)*|[IVX]+)\.?\s+)?[A-Z][A-Za-z ,:&\-]{2,70}$", re.IGNORECASE
)
_OTHERS = re.compile(
    r"introduction|related|literature|background|conclu|future|discussion|reference|acknowledg|limitation"
)
_CITED = re.compile(r"\(\d{4}[a-z]?\)|et al\.|\[\d+\]|\\cite")
_ORDERS = re.compile(
    r"(?:ignore|disregard|forget) (?:\w+ ){0,3}(?:above|previous|prior|instruction)|automated readers?|"
    r"language models?,|(?:answer|state|say|report|output) that (?:this|the)\b|"
    r"you (?:must|should|are asked to) (?:answer|state|rate|accept)",
    re.IGNORECASE,
)
"""Words that tell the reader what to do: a paragraph with them is an attack on a reader, and no rule reads it."""
_LONGEST = 600
"""Most characters of a sentence that are kept."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the heading above it."""

    text: str
    heading: str
    number: int
    """Number of the sentence in the text, from 1."""

    @property
    def low(self) -> str:
        """The sentence in lower case, with single blanks, and without the hyphens of broken lines."""
        return " ".join(re.sub(r"(?<=[a-z])-\s*\n\s*(?=[a-z])", "", self.text.lower()).split())

    @property
    def ours(self) -> bool:
        """Whether the sentence may be about this paper's own experiment, rather than about others'."""
        cited = _CITED.search(self.text) is not None and not re.search(r"\b(?:we|our)\b", self.low)
        return not (cited or _OTHERS.search(self.heading.lower()))


def sentences(text: str) -> Iterator[Sentence]:
    """All sentences of a text, in their order."""
    heading, number = "", 0
    for paragraph in re.split(r"\n\s*\n", text):
        if _ORDERS.search(paragraph):
            continue
        lines = paragraph.strip().splitlines()
        above = bool(lines) and (len(lines) == 1 or lines[0][:1].isdigit() or lines[0].isupper() or " | " in lines[1])
        if above and len(lines[0]) < 80 and _HEADING.match(lines[0].strip()):
            heading = lines[0].strip()
            if len(lines) == 1:
                continue
            lines = lines[1:]
        pieces = [piece for stretch in _stretches(lines) for piece in _END.split(stretch)]
        for piece in pieces:
            if piece and piece.strip():
                number += 1
                yield Sentence(piece.strip()[:_LONGEST], heading, number)


def _stretches(lines: list[str]) -> list[str]:
    """Lines joined to running text, with each row of a table for itself."""
    made: list[str] = []
    running = False
    for line in lines:
        row = " | " in line
        if running and not row:
            made[-1] += "\n" + line
        else:
            made.append(line)
        running = not row
    return made


@dataclass
class Claims:
    """Values that were read from a paper, each with its quotation, as an answer to ``forge/extract`` has them."""

    fields: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    """Readings of each field, in the order in which they were found."""

    def add(self, name: str, value: object, quote: str) -> None:
        """Claim a value of a field; the same value is claimed at most three times."""
        readings = self.fields.setdefault(name, [])
        if sum(reading["value"] == value for reading in readings) < 3:
            readings.append({"value": value, "quote": quote})

    def first(self, name: str) -> object:
        """The first value of a field; None where there is none."""
        readings = self.fields.get(name)
        return readings[0]["value"] if readings else None
