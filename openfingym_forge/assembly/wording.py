"""The words of a forged task: sentences of ours with typed values in them, and never a sentence of the paper.

Text of a paper could be written to act on whoever reads it: an agent, or a person's browser. So names have the form of
names, units are put together from known words, and everything else is a number or comes from a list.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from openfingym_forge.blueprint import Blueprint

NAME = re.compile(r"[A-Za-z0-9^][A-Za-z0-9_.&^=-]{0,31}")
"""Form of the name of a series or a column: one word, as tickers are."""
SHOWN = 12
"""Most names in one sentence."""
_UNIT = re.compile(r"[A-Za-z0-9 %/().,'^+-]{1,80}")
# Words that units are made of: too few for a sentence that instructs anybody.
_WORDS = """
a after anomaly annual annualised annum at base basis before bp bps by change class close closing contract cost
currency currencies daily day days decimal deviation deviations difference dollar dollars each end equity euro euros
first for foreign fraction from growth hour hourly hours in index initial level log logarithm logarithmic mean
minute month monthly months multiples node of one over pair par path per percent percentage point points
previous price prices probability quote quoted rate rates ratio realised return returns root row rows scaled score
share square standard start step the time times trading training unit units us value variance volatility week
weekly weeks window year yearly years yield yields business usd eur gbp jpy chf cad aud nzd cny inr sek nok
barrel ounce
"""
_UNIT_WORDS = frozenset(_WORDS.split())
_ROWS = {"intraday": "bar", "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "none": "row"}
_VALUES = {
    "log_return": "log returns",
    "price_level": "prices",
    "yield_level": "yields",
    "realised_vol": "realised volatility",
    "mixed": "values",
}


def is_name(value: object) -> bool:
    """Whether a value has the form of a name of a series or a column."""
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def unit_of(value: object, otherwise: str) -> str:
    """A unit, if it is put together from known words.

    Args:
        value: the unit as a paper states it.
        otherwise: the unit to take in place of any other text.
    """
    if not isinstance(value, str) or not _UNIT.fullmatch(value):
        return otherwise
    known = all(word.lower() in _UNIT_WORDS for word in re.findall(r"[A-Za-z]+", value))
    return " ".join(value.split()) if known and value.strip() else otherwise


def plain(text: str, most: int = 160) -> str:
    """A text on one line without the marks that TOML, HTML or Markdown read as their own, for people alone.

    Args:
        text: text from outside, such as the title of a paper.
        most: largest number of characters; the rest is cut off.
    """
    kept = re.sub(r"[^A-Za-z0-9 .,;:()/'&%+-]", " ", text)
    short = " ".join(kept.split())
    return short if len(short) <= most else f"{short[: most - 4].rstrip()} ..."


def host_of(address: str) -> str:
    """The host of an address; empty where it has not the form of one."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return host if re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?", host) else ""


def names_of(blueprint: Blueprint) -> list[str]:
    """The series of a blueprint that has every key: its symbols, or its channels."""
    for field in ("contract.symbols", "dataset.channels"):
        found = blueprint.value(field)
        if isinstance(found, list) and found:
            return [str(name) for name in found]
    return []


def panel_words(names: list[str], dataset: str) -> str:
    """What the data hold, in a few words.

    Args:
        names: names of the series; empty where they have none.
        dataset: name of the data set.
    """
    if not names:
        return f"the data set {dataset}"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{len(names)} series: {', '.join(names[:SHOWN])}{more}" if len(names) > 1 else f"one series: {names[0]}"


def sentence_of(blueprint: Blueprint) -> str:
    """What a task asks, in one sentence."""
    kind, row = str(blueprint.value("kind")), _ROWS.get(str(blueprint.value("frequency")), "row")
    horizon, lookback = blueprint.value("contract.horizon", 1), blueprint.value("contract.lookback", 0)
    values = _VALUES.get(str(blueprint.value("contract.value_semantics")), "values")
    names = blueprint.value("contract.targets") or names_of(blueprint)
    count = len(names) if isinstance(names, list) else 0
    series = "one series" if count == 1 else f"{count} series" if count else "all series"
    ahead = f"the next {row}" if horizon == 1 else f"each of the next {horizon} {row}s"
    past = f"the last {lookback} {row}s" if lookback != 1 else f"the last {row}"
    sentences = {
        "forecast": f"Forecast the {values} of {series} for {ahead}, from {past}.",
        "rolling": f"Forecast the {values} of {series} {horizon} {row}(s) ahead, {row} after {row}.",
        "curves": f"Forecast next month's curve of each country with an interval, from {past}.",
        "rows": "Forecast the target of every row from its features.",
        "generation": f"Generate windows of {horizon} {row}s of {series}, distributed as those of training are.",
        "nodes": "Score the nodes of a graph for anomalies.",
        "graphs": "Score each graph of a set: higher for class 1.",
        "trading": f"Trade {series}: after each {row}, decide what to hold.",
    }
    return sentences[kind]


def instruction_of(blueprint: Blueprint) -> str:
    """The text of ``instruction.md``, which says what is asked; the rest is added when the task is built: data, shapes,
    limits and scoring.
    """
    later = {
        "generation": "What is hidden comes later in time than the training windows, where the data have a time.",
        "nodes": "Some labels are known; the others are hidden, and are what is scored.",
        "graphs": "Some labels are known; the others are hidden, and are what is scored.",
    }
    hidden = later.get(str(blueprint.value("kind")), "What is hidden comes later in time than the training part.")
    return (
        f"# {blueprint.name.replace('-', ' ').capitalize()}\n\n{sentence_of(blueprint)}\n\n{hidden} The task follows "
        "the protocol of a\npaper; its metrics are named below. A series is known by the name of its column.\n"
    )
