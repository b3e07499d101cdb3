"""What may stand in each field of a blueprint: its type, its range, and the words that a paper has for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from openfingym_forge.blueprint import FIELDS, Value

FieldType = Literal["choice", "text", "texts", "date", "share", "count", "number", "truth", "address"]


@dataclass(frozen=True)
class FieldForm:
    """What may stand in a field."""

    type: FieldType
    words: Mapping[str, str] = field(default_factory=dict)
    """Values of a choice, each with the pattern that a quotation for it has to match, in lower case."""
    least: float = 0.0
    """Smallest value of a count or a number."""
    most: float = 1e9
    """Largest value of a count or a number."""

    @property
    def expected(self) -> str:
        """What may stand in the field, in words, for a prompt or a complaint."""
        spread = f"from {self.least:g} to {self.most:g}"
        return {
            "choice": "one of " + ", ".join(self.words),
            "text": "a text",
            "texts": "a list of texts",
            "date": "a date YYYY-MM-DD; of a year or month alone its first day for a start, its last for an end",
            "share": "a share between 0 and 1",
            "count": f"a whole number {spread}",
            "number": f"a number {spread}",
            "truth": "true or false",
            "address": "an address that begins with http:// or https://",
        }[self.type]


_ANY = r"\w"
"""Pattern of a value that papers have no fixed words for: any quotation will do."""
FORMS: Mapping[str, FieldForm] = {
    "family": FieldForm(
        "choice",
        {
            "forecasting": r"forecast|predict|nowcast|ahead|expect",
            "generation": r"generat|simulat|synthe|sampl|path",
            "fraud": r"fraud|anomal|launder|suspicious|default|detect|classif|abus|fake|illicit",
            "trading": r"trad|portfolio|allocat|execut|invest|strateg|rebalanc",
        },
    ),
    "kind": FieldForm(
        "choice",
        dict.fromkeys(["forecast", "curves", "rows", "generation", "nodes", "graphs", "rolling", "trading"], _ANY),
    ),
    "asset_class": FieldForm(
        "choice", dict.fromkeys(["commodity", "crypto", "equity", "fx", "rates", "lob", "synthetic", "graph"], _ANY)
    ),
    "frequency": FieldForm(
        "choice",
        {
            "intraday": r"intra-?day|minute|second|tick|high.frequency",
            "hourly": r"hour",
            "daily": r"dai?ly|day",
            "weekly": r"week",
            "monthly": r"month",
            "none": _ANY,
        },
    ),
    "panel": FieldForm("text"),
    "description": FieldForm("text"),
    "data.source": FieldForm("text"),
    "data.series": FieldForm("texts"),
    "data.url": FieldForm("address"),
    "data.columns": FieldForm("texts"),
    "data.target": FieldForm("text"),
    "data.features": FieldForm("texts"),
    "data.start": FieldForm("date"),
    "data.end": FieldForm("date"),
    "data.licence": FieldForm("text"),
    "data.unit": FieldForm("text"),
    "data.kind": FieldForm(
        "choice",
        {
            "real": _ANY,
            "simulated": r"simulat|synthetic|generat|artificial",
            "specified": r"simulat|synthetic|generat|process|dx|dX|equation|defin|specif|draw",
        },
    ),
    "data.measure": FieldForm(
        "choice", {"price": _ANY, "yield": r"yield|rate|curve|interest|matur|tenor", "mixed": _ANY}
    ),
    "data.observations": FieldForm("count", least=1, most=1e10),
    "protocol.train_share": FieldForm("share"),
    "protocol.shuffled": FieldForm("truth"),
    "protocol.scaling": FieldForm(
        "choice",
        {
            "none": r"no(?:t|r|ne)?\b|n't|without|raw|unscaled|never|un(?:standardi|normali)",
            "train": r"train|estimat|in-sample|first|earl|fit|calibrat|before|past",
            "all": r"full|entire|whole|all\b|complete|both|every|total|overall",
        },
    ),
    "protocol.resampling": FieldForm("text"),
    "protocol.overlap": FieldForm("truth"),
    "contract.lookback": FieldForm("count", least=1, most=100_000),
    "contract.horizon": FieldForm("count", least=1, most=10_000),
    "contract.value_semantics": FieldForm(
        "choice",
        {
            "log_return": r"return|log.{0,20}(?:change|differ|growth)|(?:change|differ|ratio).{0,30}log",
            "price_level": r"pric|level|rate|quot|clos|value|index",
            "yield_level": r"yield|rate|percent|curve|level",
            "realised_vol": r"volatil|varianc",
            "mixed": _ANY,
        },
    ),
    "contract.unit": FieldForm("text"),
    "contract.symbols": FieldForm("texts"),
    "contract.steps": FieldForm("count", least=1, most=1e6),
    "contract.initial_cash": FieldForm("number", least=1e-9, most=1e12),
    "contract.fee_bps": FieldForm("number", most=1000),
    "contract.slippage_bps": FieldForm("number", most=1000),
    "contract.borrow_bps_per_year": FieldForm("number", most=1e5),
    "contract.max_participation": FieldForm("number", most=1),
    "contract.max_short": FieldForm("number", most=100),
    "split.train": FieldForm("share"),
    "split.public": FieldForm("share"),
    "split.private": FieldForm("share"),
    "split.embargo": FieldForm("count", least=0, most=10_000),
}
"""What may stand in the fields that a paper is read for. Other fields are keys of ``task.toml`` and may hold any plain
value here, because the schema of the task checks them."""
ASKED: Mapping[str, str] = {
    **{name: meaning for name, meaning in FIELDS.items() if name != "kind"},
    "data.observations": "number of rows of the data, as the paper states it",
    "contract.symbols": "trading: tickers that are traded",
    "contract.steps": "trading: steps of an episode",
    "contract.initial_cash": "trading: money at the start",
    "contract.fee_bps": "trading: fee in basis points of what is traded",
    "contract.slippage_bps": "trading: slippage in basis points",
    "contract.borrow_bps_per_year": "trading: cost of borrowing in basis points a year",
    "contract.max_participation": "trading: largest share of a bar's volume",
    "contract.max_short": "trading: largest short position as a multiple of wealth",
}
"""Fields that a model is asked to find in a paper, with their meaning; not ``kind``, which triage decides."""


def problem_of(name: str, value: Value) -> str:
    """What is wrong with a field's value, and what is expected; empty where nothing is."""
    form = FORMS.get(name)
    if form is None:
        return "" if name in FIELDS or re.fullmatch(r"[a-z_]+(\.[a-z_0-9]+)*", name) else "no field has this name"
    if value is None or _fits(form, value):
        return ""
    return f"found {value!r}, expected {form.expected}"


def _fits(form: FieldForm, value: Value) -> bool:
    """Whether a value has the type and the range of its field."""
    if form.type == "choice":
        return value in form.words
    if form.type == "text":
        return isinstance(value, str) and bool(value.strip())
    if form.type == "address":
        return isinstance(value, str) and re.fullmatch(r"https?://[^\s<>\"]+", value) is not None
    if form.type == "texts":
        return isinstance(value, list) and bool(value) and all(isinstance(each, str) and each.strip() for each in value)
    if form.type == "date":
        # A datetime is a date of Python, and no day.
        return type(value) is date
    if form.type == "truth":
        return isinstance(value, bool)
    # True is an int of Python, and no number of a paper.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if form.type == "share":
        return 0 <= value <= 1
    return form.least <= value <= form.most and (form.type == "number" or isinstance(value, int))
