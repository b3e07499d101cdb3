"""The 96 series of the simulated world: what they are called, who publishes them and when, and how they move."""

from __future__ import annotations

from dataclasses import dataclass

from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.size import BY_CODE

WORLD = "GLOBAL"
"""Code of the economy of series that are about the whole world."""
POSSESSIVES = {"US": "the United States'", "CN": "China's", "HK": "Hong Kong's", "JP": "Japan's",
               "UK": "the United Kingdom's", "DE": "Germany's", "FR": "France's", "SG": "Singapore's"}  # fmt: skip
OFFICES = {
    "US": ("Bureau of Economic Statistics", "08:30"), "CN": ("National Statistics Office", "09:30"),
    "HK": ("Census Office", "16:30"), "JP": ("Statistics Agency", "08:30"), "UK": ("Statistics Office", "07:00"),
    "DE": ("Federal Office of Statistics", "08:00"), "FR": ("Institute of Statistics", "08:45"),
    "SG": ("Department of Statistics Services", "13:00"),
}  # fmt: skip
"""Statistical offices, which do not exist, and the time of day at which they publish, in local time."""


@dataclass(frozen=True)
class SimulatedStatistic:
    """A series of the world.

    Attributes:
        id: id of the series in the taxonomy, such as ``US:CPI``.
        indicator: name of its indicator in the taxonomy.
        economy: code of the economy that the series is about; one of the whole world (``GLOBAL``) is published in
            New York.
        title: name of the series in questions.
        unit: unit of its values.
        frequency: ``day``, ``month`` or ``quarter``.
        authority: the office that publishes it.
        clock: time of day at which it is published, in local time; of a daily series, minutes after the close of the
            market.
        lag: days from the end of the period to the release; 0 for daily series.
        form: how its values move: ``walk`` (grows), ``rate`` (reverts to its mean, and is often unchanged), ``level``
            (varies around its mean), ``fear`` (reverts to its mean, and jumps), or ``yearly`` (the change on a year
            before of something that grows).
        start: the first value of what grows; else the mean.
        drift: growth a year of what grows, as a share.
        noise: standard deviation of a step, as a share of the value; for a rate, the size of a step as a share of its
            mean.
        season: how much the periods of a year differ regularly, as a share of the value.
        revised: how much the first print differs from the final value, as a share of it; 0 if it is never revised.
        decimals: digits after the decimal point of its values.
        like: id of the series that has the same random numbers; empty if it has its own.
    """

    id: str
    indicator: str
    economy: str
    title: str
    unit: str
    frequency: str
    authority: str
    clock: str
    lag: int
    form: str
    start: float
    drift: float
    noise: float
    season: float
    revised: float
    decimals: int
    like: str = ""

    @property
    def home(self) -> str:
        """The economy in whose time it is published."""
        return "US" if self.economy == WORLD else self.economy


_STOCKS = {
    "US": 4800.0,
    "CN": 3900.0,
    "HK": 21000.0,
    "JP": 31000.0,
    "UK": 7500.0,
    "DE": 15400.0,
    "FR": 6900.0,
    "SG": 3200.0,
}
"""Where the stock indices start, in points."""
_YEAR = {"US": 3.8, "CN": 1.6, "HK": 3.2, "JP": 0.45, "UK": 4.1, "DE": 2.3, "FR": 2.4}
"""Means of the yields of one-year government bonds, in percent a year."""
_MONTHS = {"US": 4.0, "CN": 1.45, "HK": 3.0, "JP": 0.31, "UK": 4.2, "DE": 2.1, "FR": 2.15, "SG": 2.6}
"""Means of the rates of three-month treasury bills, in percent a year."""
_BANKS = {"US": 4.2, "CN": 1.7, "HK": 3.4, "JP": 0.48, "UK": 4.35, "DE": 2.2, "FR": 2.2, "SG": 2.5}
"""Means of the three-month interbank rates, in percent a year."""
_GDP = {"US": 6700.0, "CN": 30500.0, "HK": 720.0, "JP": 138000.0, "UK": 640.0, "DE": 1000.0, "FR": 690.0, "SG": 165.0}
"""Where the gross domestic product of a quarter starts, in billions of the currency."""
_JOBLESS = {"US": 4.0, "CN": 5.2, "HK": 3.2, "JP": 2.6, "UK": 4.4, "DE": 6.2, "FR": 7.4, "SG": 2.1}
"""Means of the unemployment rates, in percent."""
_ACCOUNT = {"US": -245.0, "CN": 420.0, "HK": 92.0, "JP": 2100.0, "UK": -19.0, "DE": 21.0, "FR": 2.6, "SG": 31.0}
"""Means of the current account balances, in billions of the currency."""
_GROWTH = {"US": 0.045, "CN": 0.048, "HK": 0.035, "JP": 0.025, "UK": 0.04, "DE": 0.03, "FR": 0.03, "SG": 0.04}
"""Growth a year of the gross domestic product, as a share."""
_YEARLY = {"CPI": {"CN", "UK", "DE", "FR"}, "PPI": {"CN", "DE"}}
"""Economies whose prices are published as the change on a year before, by indicator; the others publish an index."""
_QUARTERLY = {"GDP": set(BY_CODE), "CAB": {"US", "CN", "HK", "UK", "SG"}, "UNRATE": {"SG"}, "PPI": {"HK"},
              "HPI": {"JP", "DE", "FR", "SG"}}  # fmt: skip
"""Economies that publish an indicator quarterly; the others publish it monthly."""
_LAGS = {
    "GDP": {"US": 30, "CN": 18, "HK": 31, "JP": 46, "UK": 43, "DE": 30, "FR": 30, "SG": 14},
    "CPI": {"US": 13, "CN": 9, "HK": 21, "JP": 20, "UK": 18, "DE": 10, "FR": 14, "SG": 23},
    "PPI": {"US": 14, "CN": 9, "HK": 75, "JP": 12, "UK": 19, "DE": 20, "FR": 28, "SG": 29},
    "UNRATE": {"US": 5, "CN": 16, "HK": 19, "JP": 30, "UK": 43, "DE": 1, "FR": 33, "SG": 28},
    "HPI": {"US": 56, "CN": 15, "HK": 30, "JP": 60, "UK": 45, "DE": 84, "FR": 55, "SG": 24},
    "NEER": {"US": 6, "CN": 14, "HK": 12, "JP": 15, "UK": 8, "DE": 10, "FR": 11, "SG": 7},
    "CAB": {"US": 82, "CN": 42, "HK": 80, "JP": 39, "UK": 84, "DE": 43, "FR": 38, "SG": 55},
}  # fmt: skip
"""Days from the end of a period to its release, by indicator and economy."""


def statistics() -> tuple[SimulatedStatistic, ...]:
    """The series, in the order of the taxonomy."""
    return tuple(_statistic(entry.id, entry.indicator.name, entry.economy) for entry in read_taxonomy().series.values())


def _statistic(name: str, indicator: str, economy: str) -> SimulatedStatistic:
    """A series of the taxonomy as this world has it.

    Args:
        name: id of the series.
        indicator: name of its indicator.
        economy: code of the economy that it is about.
    """
    if economy == WORLD:
        fear = indicator == "CBOE VIX"
        title = "the world's " + ("VOLATILITY INDEX (VIX)" if fear else "COMMODITY PRICE INDEX (GSCI)")
        form, start, noise = ("fear", 17.5, 0.055) if fear else ("walk", 560.0, 0.009)
        return SimulatedStatistic(
            name, indicator, economy, title,
            unit="points", frequency="day", authority="Commodity and Options Exchange", clock="15", lag=0,
            form=form, start=start, drift=0.02, noise=noise, season=0.0, revised=0.0, decimals=2,
        )  # fmt: skip
    place = BY_CODE[economy]
    prefix = f"{POSSESSIVES[economy]} {place.name.upper()}"
    for traits in (_daily_traits(indicator, economy), _periodic_traits(indicator, economy)):
        if traits is not None:
            words, fields = traits
            return SimulatedStatistic(name, indicator, economy, f"{prefix} {words}", **fields)  # type: ignore[arg-type]
    raise AssertionError(f"{indicator} has no statistic")


def _daily_traits(indicator: str, economy: str) -> tuple[str, dict[str, object]] | None:
    """The title and the attributes of a daily series, by name; None if the indicator has no daily values."""
    place = BY_CODE[economy]
    common: dict[str, object] = {"frequency": "day", "lag": 0, "drift": 0.0, "season": 0.0, "revised": 0.0}
    bank = f"Central Bank of {place.name}"
    if indicator == "Stock Index":
        return "STOCK INDEX", common | {
            "unit": "points", "authority": f"Stock Exchange of {place.name}", "clock": "0", "form": "walk",
            "start": _STOCKS[economy], "drift": 0.06, "noise": 0.0095, "decimals": 2,
        }  # fmt: skip
    if indicator == "FX Rate":
        # Hong Kong's dollar is pegged to that of the United States, and China's currency is managed.
        form, noise = {"HK": ("rate", 0.0004), "CN": ("rate", 0.0011)}.get(economy, ("walk", 0.0042))
        return f"EXCHANGE RATE ({place.currency} PER USD)", common | {
            "unit": f"{place.currency} per USD", "authority": bank, "clock": "30", "form": form,
            "start": place.per_dollar, "noise": noise, "decimals": 2 if economy == "JP" else 4,
            # France has the same currency as Germany.
            "like": "DE:FX_RATE" if economy == "FR" else "",
        }  # fmt: skip
    rates = {
        "Interest Rate (1yr)": ("1-YEAR GOVERNMENT BOND YIELD", _YEAR, 0.02, ""),
        "Interest Rate (3m)": ("3-MONTH TREASURY BILL RATE", _MONTHS, 0.012, ""),
        "Interbank Rate": ("3-MONTH INTERBANK RATE", _BANKS, 0.006, "DE:INTERBANK_RATE" if economy == "FR" else ""),
    }
    if indicator not in rates:
        return None
    words, starts, step, like = rates[indicator]
    # A step is so many percentage points where the rate is 2.8 % or more, and smaller where it is lower.
    return words, common | {
        "unit": "percent a year", "authority": bank, "clock": "60", "form": "rate", "start": starts[economy],
        "noise": step / starts[economy] * min(1.0, 0.3 + starts[economy] / 4), "like": like,
        "decimals": 4 if economy == "CN" else 3 if economy in {"JP", "DE", "FR"} else 2,
    }  # fmt: skip


def _periodic_traits(indicator: str, economy: str) -> tuple[str, dict[str, object]] | None:
    """The title and the attributes of a monthly or quarterly series, by name; None if the indicator has none such."""
    place = BY_CODE[economy]
    office, clock = OFFICES[economy]
    frequency = "quarter" if economy in _QUARTERLY.get(indicator, ()) else "month"
    common: dict[str, object] = {
        "frequency": frequency, "authority": f"{office} of {place.name}", "clock": clock,
        "lag": _LAGS.get(indicator, {}).get(economy, 0), "season": 0.0, "revised": 0.0, "drift": 0.0,
    }  # fmt: skip
    if indicator in {"CPI", "PPI"}:
        words = "CONSUMER PRICES" if indicator == "CPI" else "PRODUCER PRICES"
        drift, noise = (0.024, 0.0016) if indicator == "CPI" else (0.018, 0.0065)
        growth = {"drift": drift, "noise": noise, "season": noise, "start": 104.0}
        if economy in _YEARLY[indicator]:
            return f"{words}, CHANGE ON A YEAR BEFORE", common | growth | {
                "unit": "percent",
                "form": "yearly",
                "decimals": 1,
            }
        revised = 0.0 if indicator == "CPI" else 0.002
        return f"{words}, INDEX", common | growth | {
            "unit": "index, 2020 = 100", "form": "walk", "decimals": 1, "revised": revised}  # fmt: skip
    if indicator == "GDP":
        # Some offices publish output as it is, others after they have taken out what is regular in a year.
        seasonal = 0.04 if economy in {"CN", "HK", "SG"} else 0.0
        return "GROSS DOMESTIC PRODUCT", common | {
            "unit": f"billion {place.currency}", "form": "walk", "start": _GDP[economy], "drift": _GROWTH[economy],
            "noise": 0.006, "season": seasonal, "revised": 0.003, "decimals": 1,
        }  # fmt: skip
    if indicator == "UNRATE":
        return "UNEMPLOYMENT RATE", common | {
            "unit": "percent", "form": "rate", "start": _JOBLESS[economy], "noise": 0.1 / _JOBLESS[economy],
            "decimals": 1,
        }  # fmt: skip
    if indicator == "HPI":
        noise = 0.004 if frequency == "month" else 0.011
        return "HOUSE PRICE INDEX", common | {
            "unit": "index, 2020 = 100", "form": "walk", "start": 118.0, "drift": 0.035, "noise": noise,
            "season": 0.003, "revised": 0.003, "decimals": 1,
        }  # fmt: skip
    if indicator == "NEER":
        return "NOMINAL EFFECTIVE EXCHANGE RATE", common | {
            "unit": "index, 2020 = 100", "form": "walk", "start": 101.0, "noise": 0.009, "decimals": 2,
            "authority": f"Central Bank of {place.name}",
        }  # fmt: skip
    if indicator == "CAB":
        return "CURRENT ACCOUNT BALANCE", common | {
            "unit": f"billion {place.currency}", "form": "level", "start": _ACCOUNT[economy], "noise": 0.09,
            "season": 0.12, "revised": 0.02, "decimals": 1, "authority": f"Central Bank of {place.name}",
        }  # fmt: skip
    return None
