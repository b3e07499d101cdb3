"""Questions on US economic series in vintages, of tiers T1 and T2; what those on GDP share with them."""

from __future__ import annotations

from typing import Any, NamedTuple

from openfingym_suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, percent, shifted, template
from openfingym_suites.finsearch.questions.programs import official

MACRO, ACCOUNTS = "macroeconomy", "macroeconomy"
RELEASED = "A release states the figure: rounding alone may differ."
COMPUTED = (
    "Computed from published figures that may be rounded before: "
    "half a unit of the last asked place more than rounding."
)


class AskedSeries(NamedTuple):
    """An economic series: what it is called, in which unit it is asked for, and which changes of it make sense."""

    name: str
    unit: str | None
    """Unit of the figures in words; None for an index."""
    decimals: int
    """Decimals with which the figures are published and asked for."""
    level: bool
    """Whether changes are asked for in percent; otherwise as differences, as for rates and balances of opinion."""


SERIES = {
    "PAYEMS": AskedSeries("US total nonfarm payroll employment (seasonally adjusted)", "thousand persons", 0, True),
    "UNRATE": AskedSeries("the US unemployment rate", "%", 1, False),
    "CPIAUCSL": AskedSeries("the US consumer price index (all items, seasonally adjusted)", None, 3, True),
    "CPILFESL": AskedSeries("the US core consumer price index (seasonally adjusted)", None, 3, True),
    "HOUST": AskedSeries("US housing starts (seasonally adjusted annual rate)", "thousand units", 0, True),
    "PERMIT": AskedSeries("US building permits (seasonally adjusted annual rate)", "thousand units", 0, True),
    "HSN1F": AskedSeries("US new home sales (seasonally adjusted annual rate)", "thousand", 0, True),
    "RSAFS": AskedSeries("US retail sales", "million USD", 0, True),
    "DGORDER": AskedSeries("US durable goods orders", "million USD", 0, True),
    "BUSINV": AskedSeries("US total business inventories", "million USD", 0, True),
    "TTLCONS": AskedSeries("US construction spending", "million USD", 0, True),
    "BOPTEXP": AskedSeries("US exports of goods and services", "million USD", 0, True),
    "BOPTIMP": AskedSeries("US imports of goods and services", "million USD", 0, True),
    "INDPRO": AskedSeries("the US industrial production index", None, 2, True),
    "TCU": AskedSeries("the US capacity utilization rate", "%", 1, False),
    "JTSJOL": AskedSeries("US job openings (JOLTS)", "thousand", 0, True),
    "PCEPI": AskedSeries("the US PCE price index", None, 2, True),
    "PCEPILFE": AskedSeries("the US core PCE price index", None, 2, True),
    "DSPIC96": AskedSeries("US real disposable personal income (chained dollars)", "billion USD", 1, True),
    "PCEC96": AskedSeries("US real personal consumption expenditures (chained dollars)", "billion USD", 1, True),
    "GACDFSA066MSFRBPHI": AskedSeries("the Philadelphia Fed manufacturing index", None, 1, False),
    "GACDISA066MSFRBNY": AskedSeries("the Empire State manufacturing index", None, 1, False),
    "WHLSLRIMSA": AskedSeries("US wholesale inventories", "million USD", 0, True),
    "IR": AskedSeries("the US import price index", None, 1, True),
    "IQ": AskedSeries("the US export price index", None, 1, True),
}
NAMES = tuple(series.name for series in SERIES.values())
REVISED = ["PAYEMS", "HOUST", "PERMIT", "HSN1F", "RSAFS", "DGORDER", "BUSINV", "TTLCONS", "BOPTEXP", "BOPTIMP",
           "INDPRO", "JTSJOL", "PCEPI", "DSPIC96", "PCEC96", "WHLSLRIMSA"]  # fmt: skip
"""Series whose figures are revised after their first publication."""
COUNTRIES = {"CHE": ("Switzerland", "CHF"), "US": ("the United States", "USD"), "EA": ("the euro area", "EUR"),
             "JP": ("Japan", "JPY")}  # fmt: skip
"""Economies whose GDP is asked about: series of the table ``gdp``, name in words and currency."""
GDP = "real quarterly GDP (level, not annualised)"


def _draft(text: str, as_of: str, program: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
           alternatives: dict[str, Any], *, table: bool = False, why: str = RELEASED,
           source: str = "macro") -> Draft:  # fmt: skip
    """A draft of a question on a series of the table ``macro``, or of ``gdp``."""
    names = (*NAMES, *(name for name, _ in COUNTRIES.values()))
    return Draft(text, as_of, program, params, asks, alternatives, names, (source,), why, table)


def _series(d: Draw, among: list[str] | None = None) -> tuple[str, AskedSeries]:
    """One of all series, or of some: its id and what is known of it."""
    name = d.one(among or list(SERIES))
    return name, SERIES[name]


def _asked(d: Draw) -> str:
    """A time from July 2016 to January 2017: the months of whose releases the table ``macro`` has the vintages."""
    return d.asked_after(shifted("2016-07-05", d.rng.randrange(0, 200)), 12)


def _ask(series: AskedSeries, name: str = "value") -> AskedValue:
    return AskedValue(name, unit=series.unit, decimals=series.decimals)


def _unit(series: AskedSeries) -> str:
    """What follows the name of a series in a text, to state the unit."""
    return f" in {series.unit.replace('%', 'percent')}" if series.unit else " (index points)"


def _change(series: AskedSeries) -> tuple[str, AskedValue, dict[str, Any]]:
    """How a change is asked for, in percent or as a difference: in words, as an asked value, and as parameters."""
    if series.level:
        return "percentage change", percent(), {"change": "percent"}
    unit = "percentage points" if series.unit == "%" else None
    return "change in points", AskedValue("change", unit=unit, decimals=1), {"change": "difference"}


def _month(period: str) -> str:
    return period[:7]


@template("T1", MACRO, most=6)
def macro_latest(d: Draw) -> Draft:
    name, series = _series(d)
    as_of = _asked(d)
    text = d.one(
        [
            "What is the latest published figure for {}{}, {}?",
            "The newest reading of {}{} as released so far, {}?",
        ]
    ).format(series.name, _unit(series), d.digits(series.decimals))
    return _draft(text, as_of, official.latest_value, {"series": name}, (_ask(series),), {
        "the period before": (official.latest_value, {"series": name, "back": 1}),
        "a year before": (official.latest_value, {"series": name, "back": 12}),
    })  # fmt: skip


@template("T1", MACRO, most=6)
def macro_latest_period(d: Draw) -> Draft:
    name, series = _series(d)
    as_of = _asked(d)
    text = d.one(
        [
            "Which is the latest month for which {} has been published, and what is the figure{}, {}?",
            "Up to which month is {} available at present, and at which value{} ({})?",
        ]
    ).format(series.name, _unit(series), d.digits(series.decimals))
    return _draft(text, as_of, official.latest_period, {"series": name}, (AskedValue("month", "date"), _ask(series)), {
        "the month before": (_period_before, {"series": name}),
    })  # fmt: skip


def _period_before(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The period before the latest."""
    period, value = w.points(p["series"])[-2]
    return (period[:7], value)


@template("T1", MACRO, most=6)
def macro_latest_growth(d: Draw) -> Draft:
    name, series = _series(d)
    as_of, lag = _asked(d), d.one([1, 3, 12])
    words, ask, more = _change(series)
    span = {1: "the month before", 3: "three months before", 12: "the same month of the year before"}[lag]
    text = (
        "By the data published so far, "
        f"what is the latest {words} of {series.name} from {span}, {d.digits(ask.decimals or 0)}?"
    )
    params = {"series": name, "lag": lag, **more}
    return _draft(text, as_of, official.latest_compared, params, (ask,), {
        "the period before": (official.latest_compared, {**params, "back": 1}),
        "over another span": (official.latest_compared, {**params, "lag": 12 if lag == 1 else 1}),
    }, why=COMPUTED)  # fmt: skip


@template("T1", MACRO, most=6)
def macro_latest_revision(d: Draw) -> Draft:
    name, series = _series(d, REVISED)
    as_of = _asked(d)
    text = (
        f"Take the month before the latest published one: by how much has the figure for {series.name} "
        f"been revised from its first publication to now{_unit(series)}, signed, {d.digits(series.decimals)}?"
    )
    change = {"series": name, "lag": 1, "change": "difference"}
    return _draft(text, as_of, official.latest_revision, {"series": name}, (_ask(series, "revision"),), {
        "the change of the latest month": (official.latest_compared, change),
    })  # fmt: skip


def _first_released(d: Draw, name: str) -> list[str]:
    """Periods that were first published after the first vintage of the table, so that it has their first figures."""
    periods = [period for period, _ in d.world.points(name, "2016-03-01")]
    return [period for period in periods if d.world.vintages(name, period)[0].known > "2016-07-01"]


@template("T2", MACRO)
def macro_first_or_known(d: Draw) -> Draft:
    (name, series), vintage = _series(d, REVISED), d.one(["first", "last"])
    # Without the last period, which was hardly revised yet; asked after all vintages, so that the last is "as revised".
    period = d.one(_first_released(d, name)[:-1])
    as_of = d.asked_after(d.world.vintages(name, period)[-1].known, 2500)
    params = {"series": name, "period": period, "vintage": vintage}
    known = d.world.vintages(name, period)[-1].known
    text = {
        "first": (
            f"At what level was {series.name} for {d.day(_month(period))} "
            f"first published{_unit(series)}, {d.digits(series.decimals)}?"
        ),
        "last": (
            f"What was {series.name} for {d.day(_month(period))}, "
            f"as revised by {d.day(known)}{_unit(series)}, {d.digits(series.decimals)}?"
        ),
    }[vintage]
    return _draft(text, as_of, official.value_of, params, (_ask(series),), {
        "the other vintage": (official.value_of, {**params, "vintage": "last" if vintage == "first" else "first"}),
    })  # fmt: skip


@template("T2", MACRO)
def macro_known_on(d: Draw) -> Draft:
    name, series = _series(d, REVISED)
    period = d.one(_first_released(d, name)[:-1])
    vintages = d.world.vintages(name, period)
    if len(vintages) < 2:
        raise SkipError("never revised")
    place = d.rng.randrange(len(vintages))
    # A few days after a vintage, which the question asks for by the day alone.
    day = shifted(vintages[place].known, d.rng.randrange(1, 5))
    as_of = d.asked_after(vintages[-1].known, 2500)
    params = {"series": name, "period": period, "day": day}
    text = (
        f"As known on {d.day(day)}, what was {series.name} for {d.day(_month(period))}{_unit(series)} "
        f"({d.digits(series.decimals)}, without later revisions)?"
    )
    return _draft(text, as_of, official.value_known_on, params, (_ask(series),), {
        "as revised last": (official.value_of, {"series": name, "period": period, "vintage": "last"}),
        "as first published": (official.value_of, {"series": name, "period": period, "vintage": "first"}),
    })  # fmt: skip


@template("T2", MACRO)
def macro_revision(d: Draw) -> Draft:
    (name, series), in_percent = _series(d, REVISED), d.rng.random() < 0.4
    period = d.one(_first_released(d, name)[:-1])
    vintages = d.world.vintages(name, period)
    as_of = d.asked_after(vintages[-1].known, 2500)
    params = {"series": name, "period": period, "change": "percent" if in_percent else "difference"}
    unit = " in percent of the first figure" if in_percent else _unit(series)
    text = (
        f"From first publication to its last revision of {d.day(vintages[-1].known)}, "
        f"by how much was the {d.day(_month(period))} figure of {series.name} revised{unit}? "
        f"Signed, {d.digits(2 if in_percent else series.decimals)}."
    )
    ask = percent("revision") if in_percent else _ask(series, "revision")
    return _draft(text, as_of, official.revision_of, params, (ask,), {
        "the figure itself": (official.value_of, {**params, "vintage": "last"}),
    }, why=COMPUTED if in_percent else RELEASED)  # fmt: skip


@template("T2", MACRO)
def macro_history(d: Draw) -> Draft:
    name, series = _series(d)
    points = [period for period, _ in d.world.points(name, "1986-01-01", "2015-12-01")]
    # Thirteen months on, so that there is a value a year and a month before.
    period = d.one(points[13:])
    lag = d.one([0, 1, 12])
    as_of = _asked(d)
    day = d.day(as_of[:10])
    if lag == 0:
        params = {"series": name, "period": period, "vintage": "last"}
        text = (
            f"In the data as they stand on {day}, "
            f"what is the {d.day(_month(period))} value of {series.name}{_unit(series)}, {d.digits(series.decimals)}?"
        )
        return _draft(text, as_of, official.value_of, params, (_ask(series),), {
            "the month before": (official.value_of, {**params, "period": points[points.index(period) - 1]}),
            "a year before": (official.value_of, {**params, "period": points[points.index(period) - 12]}),
        })  # fmt: skip
    words, ask, more = _change(series)
    base = points[points.index(period) - lag]
    params = {"series": name, "period": period, "base": base, **more}
    text = (
        f"In data as of {day}: what was the {'month-over-month' if lag == 1 else 'year-over-year'} "
        f"{words} of {series.name} in {d.day(_month(period))}, {d.digits(ask.decimals or 0)}?"
    )
    other = points[points.index(period) - (12 if lag == 1 else 1)]
    return _draft(text, as_of, official.compared_periods, params, (ask,), {
        "over the other span": (official.compared_periods, {**params, "base": other}),
    }, why=COMPUTED)  # fmt: skip


@template("T2", MACRO, most=4)
def macro_release_day(d: Draw) -> Draft:
    name, series = _series(d, REVISED)
    period = d.one(_first_released(d, name))
    vintages = d.world.vintages(name, period)
    as_of = d.asked_after(vintages[-1].known, 2500)
    text = (
        f"How large was the change of {series.name} in {d.day(_month(period))} from the month "
        f"before when the month was first published, both figures as of that release{_unit(series)}? "
        f"Signed, {d.digits(series.decimals)}."
    )
    before = f"{int(period[:4]) - (period[5:7] == '01')}-{(int(period[5:7]) - 2) % 12 + 1:02d}-01"
    params = {"series": name, "period": period, "before": before}
    return _draft(text, as_of, _change_at_release, params, (_ask(series, "change"),), {
        "as revised": (_change_as_revised, params),
        "both as first published": (_change_of_firsts, params),
    })  # fmt: skip


def _change_at_release(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The change from the period before, both as known when the period was first published."""
    first = w.vintages(p["series"], p["period"])[0]
    before = [each for each in w.vintages(p["series"], p["before"]) if each.known <= first.known][-1]
    return (first.value - before.value,)


def _change_as_revised(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The change from the period before, both as known last."""
    return (w.vintages(p["series"], p["period"])[-1].value - w.vintages(p["series"], p["before"])[-1].value,)


def _change_of_firsts(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The change from the period before, both as they were first published."""
    return (w.vintages(p["series"], p["period"])[0].value - w.vintages(p["series"], p["before"])[0].value,)
