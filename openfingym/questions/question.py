"""A question: what is asked, until when it may be answered, and when and by whom it is resolved."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from openfingym.digests import sha256_of_json
from openfingym.errors import UsageError

Form = Literal["probability", "probabilities", "choice", "value", "quantiles", "interval"]
"""What an answer is: the probability of an event; a probability for each outcome; one outcome; a number; quantiles of
a number at given levels; or an interval that covers it with a given probability."""
FORMS: tuple[Form, ...] = get_args(Form)
NUMERIC: frozenset[Form] = frozenset({"value", "quantiles", "interval"})
"""Forms of questions whose truth is a number with a unit."""
Measure = Literal["amount", "ratio", "rate", "macro"]
"""What a number measures, which fixes how close a forecast must come to count as correct."""
TOLERANCES: Mapping[Measure, float] = MappingProxyType({"amount": 0.05, "ratio": 0.01, "rate": 0.001, "macro": 0.01})
"""Largest relative error, exclusive, of a correct forecast (Li et al. 2026, section 2.5): 5 % of amounts in millions,
1 % of ratios and percentages, 0.1 % of interest and exchange rates, 1 % of other macroeconomic figures."""
DAY_NS = 86_400 * 10**9
"""Nanoseconds in a day."""
REAL_CLOCK = "real"
"""Name of the verifier's own clock; every other clock moves only when its operator moves it."""
REPLAYED = "replayed/"
"""How the names of clocks begin that pass through a recorded past. They are moved as simulated clocks are, but the
truths of questions asked by them are real."""
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+-]{0,199}")
LONGEST_TEXT = 4000
"""The most characters of a question's text, and of its rules."""
MOST_OUTCOMES = 200
LATEST_NS = 2**62
"""A time in 2116, before which every time of a question must be."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TIMES = ("generated_ns", "deadline_ns", "evaluation_ns")
"""Fields of a question that are times."""


@dataclass(frozen=True)
class Question:
    """A question, with everything that decides its score. Times are nanoseconds since the epoch.

    Raises:
        UsageError: the question contradicts itself; the message says what was expected.
    """

    id: str
    """Identifier of letters, digits and ``._:/+-``, unique in a ledger."""
    text: str
    """The question as it is asked."""
    form: Form
    """What an answer is."""
    generated_ns: int
    """Time at which the question was made (t_g)."""
    deadline_ns: int
    """Time before which it must be answered (t_d), after ``generated_ns``."""
    evaluation_ns: int
    """Time from which its provider is asked for the truth (t_e), after ``deadline_ns``."""
    provider: str
    """Name of the provider that knows the truth; see :mod:`openfingym.questions.providers`."""
    query: Mapping[str, str | float] = field(default_factory=dict)
    """What the provider is asked, such as a market and an outcome."""
    outcomes: tuple[str, ...] = ()
    """The outcomes, of which one happens, for the forms ``probabilities`` and ``choice``; else empty."""
    levels: tuple[float, ...] = ()
    """For ``quantiles``, increasing levels in (0, 1); for ``interval``, the one probability that it is to cover; else
    empty."""
    unit: str = ""
    """Unit of a number, such as ``USD`` or ``percent``."""
    measure: Measure | None = None
    """What a number measures; None where no forecast of it counts as correct or false."""
    category: str = ""
    """What sort of question it is, for reports: a venue, a source, or a suite's class."""
    market: str = ""
    """The market, symbol or economy that it is about, for reports."""
    rules: str = ""
    """How the question is resolved, in words, for those who answer it."""
    clock: str = REAL_CLOCK
    """Name of the clock by whose time it is asked and resolved."""
    round: str = ""
    """Name of the round that asks the question; empty where none does."""

    def __post_init__(self) -> None:
        # A copy that cannot be changed: the digest of a question is that of what was checked here.
        object.__setattr__(self, "query", MappingProxyType(dict(self.query)))
        if not isinstance(self.id, str) or not IDENTIFIER.fullmatch(self.id):
            raise UsageError(f"a question's id is letters, digits and ._:/+-, at most 200; found {str(self.id)[:80]!r}")
        where = f"question {self.id}"
        self._check_types(where)
        if not 0 < len(self.text) <= LONGEST_TEXT or len(self.rules) > LONGEST_TEXT:
            raise UsageError(f"{where}: its text has {len(self.text)} characters, expected 1 to {LONGEST_TEXT}")
        if self.form not in FORMS:
            raise UsageError(f"{where}: its form is {self.form!r}, expected one of {', '.join(FORMS)}")
        if not self.generated_ns < self.deadline_ns < self.evaluation_ns:
            raise UsageError(
                f"{where}: made {utc_text(self.generated_ns)}, deadline {utc_text(self.deadline_ns)}, resolved from "
                f"{utc_text(self.evaluation_ns)}; expected these in this order, each after the one before"
            )
        named = self.form in {"probabilities", "choice"}
        if named != bool(self.outcomes) or (named and not 2 <= len(self.outcomes) <= MOST_OUTCOMES):
            raise UsageError(
                f"{where}: {len(self.outcomes)} outcomes for the form {self.form}; expected 2 to {MOST_OUTCOMES} of "
                "probabilities and choice, none of others"
            )
        if len(set(self.outcomes)) < len(self.outcomes) or not all(self.outcomes):
            raise UsageError(f"{where}: its outcomes must be different names, found {list(self.outcomes)}")
        if (self.form in {"quantiles", "interval"}) != bool(self.levels) or (
            self.form == "interval" and len(self.levels) != 1
        ):
            raise UsageError(
                f"{where}: {len(self.levels)} levels for the form {self.form}; expected some of quantiles, one of an "
                "interval, none of others"
            )
        ends = (0.0, *self.levels, 1.0)
        if not all(low < high for low, high in itertools.pairwise(ends)):
            raise UsageError(f"{where}: its levels must increase, between 0 and 1; found {list(self.levels)}")
        if self.form not in NUMERIC and (self.unit or self.measure):
            raise UsageError(f"{where}: only a number has a unit or a measure; its form is {self.form}")
        if self.measure is not None and self.measure not in TOLERANCES:
            raise UsageError(f"{where}: its measure is {self.measure!r}, expected one of {', '.join(TOLERANCES)}")
        bad = [key for key, value in self.query.items() if not isinstance(value, str) and not _is_finite(value)]
        if bad:
            raise UsageError(f"{where}: its query must hold texts and finite numbers; {bad[0]} is neither")

    def _check_types(self, where: str) -> None:
        """Refuse values that no ledger could store: a question may come from a stranger's file."""
        names = ("text", "form", "provider", "unit", "category", "market", "rules", "clock", "round")
        texts = {name: getattr(self, name) for name in names}
        texts |= {f"outcome {outcome!r:.40}": outcome for outcome in self.outcomes}
        texts |= {f"{name!s:.40} of its query": value for name, value in self.query.items() if isinstance(value, str)}
        for name, value in texts.items():
            if not isinstance(value, str) or len(value) > LONGEST_TEXT or not _is_whole(value):
                raise UsageError(
                    f"{where}: its {name} is {str(value)[:40]!r}, expected a text of at most {LONGEST_TEXT} characters"
                )
        for name in ("generated_ns", "deadline_ns", "evaluation_ns"):
            value = getattr(self, name)
            # Not isinstance: True is an int to Python, and would be written as 1.
            if type(value) is not int or not 0 <= value < LATEST_NS:
                raise UsageError(
                    f"{where}: its {name} is {str(value)[:40]}, expected whole nanoseconds from 1970 to 2116"
                )

    @property
    def numeric(self) -> bool:
        """Whether the truth is a number with a unit."""
        return self.form in NUMERIC

    @property
    def replayed(self) -> bool:
        """Whether the question is asked in a replay of the past, so that its truth was known when it was asked."""
        return self.clock.startswith(REPLAYED)

    @property
    def tolerance(self) -> float | None:
        """Largest relative error, exclusive, of a correct forecast; None where none is correct or false."""
        return None if self.measure is None else TOLERANCES[self.measure]

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the question, by which the log refers to it."""
        return sha256_of_json(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The question as JSON, with times as integers of nanoseconds."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        return plain | {"query": dict(self.query), "outcomes": list(self.outcomes), "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read a question that :meth:`to_dict` wrote.

        Raises:
            UsageError: the document is not of this form, or the question contradicts itself.
        """
        known = {item.name for item in fields(cls)}
        if unknown := sorted(document.keys() - known):
            raise UsageError(f"a question has no {unknown[0]!r}; expected some of {', '.join(sorted(known))}")
        values = dict(document)
        for name in ("outcomes", "levels"):
            values[name] = tuple(values.get(name, ()))
        for name in TIMES:
            if name in values and type(values[name]) is not int:
                raise UsageError(
                    f"{name} of question {str(document.get('id'))[:80]!r} is {str(values[name])[:80]!r}; expected an "
                    "integer, nanoseconds since the epoch"
                )
        try:
            return cls(**values)
        except TypeError as error:
            raise UsageError(f"question {str(document.get('id'))[:80]!r} is incomplete: {error}") from None


def _is_whole(text: str) -> bool:
    """Whether a text has no lone surrogates, which JSON can spell and UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < math.inf


def moment_ns(value: str | datetime) -> int:
    """A moment as nanoseconds since the epoch, exact to the microsecond.

    Args:
        value: a datetime, or a text in ISO 8601. It must have a time zone, since without one it could be any time.

    Raises:
        UsageError: the moment cannot be read, or has no time zone.
    """
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise UsageError(f"{str(value)[:60]!r} is no time; expected one such as 2026-11-26T00:00:00Z") from None
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise UsageError(f"{moment.isoformat()} has no time zone; write it with one, such as {moment.isoformat()}Z")
    # Whole microseconds, where timestamp() would round to a float.
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def moment_at(moment: int) -> datetime:
    """Nanoseconds since the epoch as a time in UTC, to the microsecond."""
    return _EPOCH + timedelta(microseconds=moment // 1000)


def utc_text(moment: int) -> str:
    """Nanoseconds since the epoch as ISO 8601 in UTC: to the second where that is exact, else to the microsecond."""
    return moment_at(moment).isoformat(timespec="auto").replace("+00:00", "Z")
