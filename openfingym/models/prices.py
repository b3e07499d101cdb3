"""Prices of language models' tokens, in US dollars per million."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Self

from openfingym.digests import sha256_of_text
from openfingym.errors import UsageError
from openfingym.models.messages import Usage

_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")
"""The date at the end of a dated snapshot's name, such as ``gpt-4o-2024-08-06``."""
BUILTIN = "the package's table: list prices from memory, August 2025, not checked"
"""Origin of the prices in the library's own table."""
LOCAL = "stand-in/"
"""Prefix of the names of models that run on this machine and cost nothing."""


@dataclass(frozen=True)
class Price:
    """Prices of one model, in US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Price of input that is read from a cache; None where it costs what other input costs."""

    def of(self, usage: Usage) -> float:
        """The cost of some tokens, in US dollars."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        return (fresh * self.input + usage.cached * cached + usage.completion * self.output) / 1e6


@dataclass(frozen=True)
class PriceTable:
    """Prices by model name; a model that is not in it has no known price, which is not a price of 0."""

    prices: Mapping[str, Price]
    origin: str = "given"
    """Where the prices are from, for a run's record."""

    @classmethod
    def load(cls, path: str | Path | None = None) -> Self:
        """The library's table, in which the entries of a file take precedence.

        Args:
            path: TOML file with a table for each model; None for the library's entries alone.

        Raises:
            UsageError: the file cannot be read or is no price table; says which entry is wrong.
        """
        builtin = (resources.files("openfingym") / "models" / "prices.toml").read_text(encoding="utf-8")
        table = _read(builtin, "prices.toml")
        if path is not None:
            try:
                table |= _read(Path(path).read_text(encoding="utf-8-sig"), str(path))
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{path}: the price table cannot be read ({error})") from error
        return cls(table, BUILTIN if path is None else f"{Path(path).name}, then {BUILTIN}")

    def describe(self, model: str) -> dict[str, object]:
        """A model's price for a run's ``config.json``: the table's origin and digest, and the price or None."""
        content = json.dumps({name: asdict(price) for name, price in self.prices.items()}, sort_keys=True)
        price = self.find(model)
        return {
            "table": self.origin,
            "sha256": sha256_of_text(content),
            "price": None if price is None else asdict(price),
        }

    def find(self, model: str) -> Price | None:
        """The price of a model by its exact name, or by its name without a date at the end."""
        if model.startswith(LOCAL):
            return Price(0.0, 0.0)
        return self.prices.get(model) or self.prices.get(_DATE.sub("", model))

    def require(self, model: str) -> Price:
        """The price of a model, which a limit on cost cannot do without.

        Raises:
            UsageError: no price is known for the model.
        """
        price = self.find(model)
        if price is None:
            raise UsageError(
                f"no price is known for model {model!r}, so a limit on cost cannot be kept; state it with --prices FILE"
            )
        return price

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """The cost of some tokens of a model in US dollars; None where its price is not known."""
        price = self.find(model)
        return None if price is None else price.of(usage)


def _read(text: str, where: str) -> dict[str, Price]:
    """The prices in the text of a TOML file, which messages call ``where``.

    Raises:
        UsageError: the text is no price table; says which entry is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: not valid TOML ({error})") from error
    table = {}
    for model, entry in document.items():
        if not isinstance(entry, dict) or not {"input", "output"} <= entry.keys() <= {"input", "output", "cached"}:
            raise UsageError(
                f"{where}: {model!r} needs input and output (and may have cached), in US dollars per million tokens"
            )
        for key, value in entry.items():
            if (
                not isinstance(value, int | float)
                or isinstance(value, bool)
                or not (math.isfinite(value) and value >= 0)
            ):
                raise UsageError(f"{where}: {model}.{key} must be a number of US dollars, 0 or more; found {value!r}")
        table[model] = Price(**{key: float(value) for key, value in entry.items()})
    return table
