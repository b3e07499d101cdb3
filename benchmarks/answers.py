"""Deciding answers in words by rule: answers a second, and reading a number beside price-parser where it is installed.

python benchmarks/answers.py [SECONDS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from size import sized

from openfingym.answers import Part, Reference, decide
from openfingym.answers.packing import pack
from openfingym.metrics.words import grouped_accuracy

REVENUE = Reference((Part("revenue", "number", 62.57, "million USD", decimals=2),), group=("global", "T2"))
CHANGE = Reference((Part("change", "number", -0.59, "%", decimals=2),), group=("global", "T1"))
DAY = Reference((Part("day", "date", "2024-03-15"),), group=("china", "T2"))
PAIR = Reference(
    (Part("city", "text", "Kunming", choices=("Chengdu", "Dali")), Part("difference", "number", 740.0, decimals=0)),
    group=("china", "T3"),
)
SHORT = [
    *((REVENUE, text) for text in ("62.57", "63.12", "$62.57 million", "62,570,000 USD", "62.57 million USD")),
    *((CHANGE, text) for text in ("-0.59%", "-0.59", "0.59%", "fell 0.59%")),
    *((DAY, text) for text in ("2024-03-15", "2024-03-16", "March 15, 2024")),
    (PAIR, '{"city": "Kunming", "difference": 740}'),
]
"""In the forms that agents are told."""
LONG = [
    (REVENUE, "The revenue was $62.57 million in fiscal year 2023, up 12% from the year before."),
    (REVENUE, "I looked it up in the 10-K.\n\nFinal answer: 62.57 million USD"),
    (REVENUE, "between 60 and 65 million, perhaps 62.57"),
    (PAIR, "It is closest to Kunming, with a difference of about 740 square kilometers."),
]
"""As reports have them."""


def rate(work: Callable[[], object], count: int, seconds: float) -> float:
    """Items a second of processor time."""
    work()
    begun, done = time.process_time(), 0
    while time.process_time() - begun < seconds:
        work()
        done += count
    return done / (time.process_time() - begun)


def decided(pairs: Sequence[tuple[Reference, str]]) -> Callable[[], object]:
    return lambda: [decide(reference, answer) for reference, answer in pairs]


def main(seconds: float) -> None:
    for name, pairs in (("in the asked form", SHORT), ("in reports", LONG)):
        print(f"decided, {name}: {rate(decided(pairs), len(pairs), seconds):,.0f} answers a second")
    pairs = SHORT * 50
    truth = np.stack([pack(reference.to_json()) for reference, _ in pairs])
    given = np.stack([pack(answer) for _, answer in pairs])
    scored = rate(lambda: grouped_accuracy(truth, given), len(pairs), seconds)
    print(f"scored, rows to accuracy: {scored:,.0f} answers a second")
    try:
        from price_parser import Price
    except ImportError:
        print("price-parser is not installed; pip install price-parser for the ratio")
        return
    texts = [text for reference, text in SHORT if reference is REVENUE]
    peer = rate(lambda: [Price.fromstring(text) for text in texts], len(texts), seconds)
    own = rate(decided([(REVENUE, text) for text in texts]), len(texts), seconds)
    print(f"price-parser reads {peer:,.0f} numbers a second; ratio of deciding to it: {own / peer:.2f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else sized(2.0, 0.01))
