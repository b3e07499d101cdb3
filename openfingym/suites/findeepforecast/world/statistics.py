"""The 96 series of the simulated world: what they are called, who publishes them and when, and how they move."""

from __future__ import annotations

from dataclasses import dataclass

from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.world.size import BY_CODE

WORLD = "GLOBAL"
POSSESSIVES = {"US": "the United States'", "CN": "China's", "HK": "Hong Kong's", "JP": "Japan's",
               "UK": "the United Kingdom's", "DE": "Germany's", "FR": "France's", "SG": "Singapore's"}  # fmt: skip
OFFICES = {
    "US": ("Bureau of Economic Statistics", "08:30"), "CN": ("National Statistics Office", "09:30"),
    "HK": ("Census Office", "16:30"), "JP": ("Statistics Agency", "08:30"), "UK": ("Statistics Office", "07:00"),
    "DE": ("Federal Office of Statistics", "08:00"), "FR": ("Institute of Statistics", "08:45"),
    "SG": ("Department of Statistics Services", "13:00"),
}  # fmt: skip
"""Made-up offices, and when they publish, in their own time."""


@dataclass(frozen=True)
class SimulatedStatistic:
    """A series of the world.

    Attributes:
        id: id of the series in the taxonomy.
        indicator: code of its indicator in the taxonomy.
        economy: code of the economy that the series is about; one of the whole world (``GLOBAL``) is published in
            New York.
        title: name of the series in questions.
        unit: unit of its values.
        frequency: ``day``, ``month`` or ``quarter``.
        authority: the office that publishes it.
        clock: when, in local time; of daily series how many minutes after the close.
        lag: days from the end of the period to the release; 0 of daily series.
        form: ``walk`` (grows), ``rate`` (comes back, is often unchanged), ``level`` (varies around a mean), ``fear``
            (comes back, moves in jumps), or ``yearly`` (change on a year before of something that grows).
        start: first value, or mean.
        drift: growth a year of what grows.
        noise: standard deviation of a step, relative; of rates the usual step.
        season: how much the periods of a year differ, relative.
        revised: how far the first print is off, relative; 0 where it is not revised.
        decimals: digits after the point of its values.
        like: id of the series whose random numbers it has; its own where it is empty.
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
_YEAR = {"US": 3.8, "CN": 1.6, "HK": 3.2, "JP": 0.45, "UK": 4.1, "DE": 2.3, "FR": 2.4}
_MONTHS = {"US": 4.0, "CN": 1.45, "HK": 3.0, "JP": 0.31, "UK": 4.2, "DE": 2.1, "FR": 2.15, "SG": 2.6}
_BANKS = {"US": 4.2, "CN": 1.7, "HK": 3.4, "JP": 0.48, "UK": 4.35, "DE": 2.2, "FR": 2.2, "SG": 2.5}
_GDP = {"US": 6700.0, "CN": 30500.0, "HK": 720.0, "JP": 138000.0, "UK": 640.0, "DE": 1000.0, "FR": 690.0, "SG": 165.0}
_JOBLESS = {"US": 4.0, "CN": 5.2, "HK": 3.2, "JP": 2.6, "UK": 4.4, "DE": 6.2, "FR": 7.4, "SG": 2.1}
_ACCOUNT = {"US": -245.0, "CN": 420.0, "HK": 92.0, "JP": 2100.0, "UK": -19.0, "DE": 21.0, "FR": 2.6, "SG": 31.0}
_GROWTH = {"US": 0.045, "CN": 0.048, "HK": 0.035, "JP": 0.025, "UK": 0.04, "DE": 0.03, "FR": 0.03, "SG": 0.04}
_YEARLY = {"CPI": {"CN", "UK", "DE", "FR"}, "PPI": {"CN", "DE"}}
"""Whose prices are published as change on a year before; the others' as an index."""
_QUARTERLY = {"GDP": set(BY_CODE), "CAB": {"US", "CN", "HK", "UK", "SG"}, "UNRATE": {"SG"}, "PPI": {"HK"},
              "HPI": {"JP", "DE", "FR", "SG"}}  # fmt: skip
_LAGS = {
    "GDP": {"US": 30, "CN": 18, "HK": 31, "JP": 46, "UK": 43, "DE": 30, "FR": 30, "SG": 14},
    "CPI": {"US": 13, "CN": 9, "HK": 21, "JP": 20, "UK": 18, "DE": 10, "FR": 14, "SG": 23},
    "PPI": {"US": 14, "CN": 9, "HK": 75, "JP": 12, "UK": 19, "DE": 20, "FR": 28, "SG": 29},
    "UNRATE": {"US": 5, "CN": 16, "HK": 19, "JP": 30, "UK": 43, "DE": 1, "FR": 33, "SG": 28},
    "HPI": {"US": 56, "CN": 15, "HK": 30, "JP": 60, "UK": 45, "DE": 84, "FR": 55, "SG": 24},
    "NEER": {"US": 6, "CN": 14, "HK": 12, "JP": 15, "UK": 8, "DE": 10, "FR": 11, "SG": 7},
    "CAB": {"US": 82, "CN": 42, "HK": 80, "JP": 39, "UK": 84, "DE": 43, "FR": 38, "SG": 55},
}  # fmt: skip


def statistics() -> tuple[SimulatedStatistic, ...]:
    """The series, in the order of the taxonomy."""
    return tuple(_of(entry.id, entry.indicator.name, entry.economy) for entry in taxonomy().series.values())


def _of(name: str, indicator: str, economy: str) -> SimulatedStatistic:
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
    for found in (_daily(indicator, economy), _monthly(indicator, economy)):
        if found is not None:
            words, fields = found
            return SimulatedStatistic(name, indicator, economy, f"{prefix} {words}", **fields)  # type: ignore[arg-type]
    raise AssertionError(f"{indicator} has no statistic")


def _daily(indicator: str, economy: str) -> tuple[str, dict[str, object]] | None:
    place = BY_CODE[economy]
    common: dict[str, object] = {"frequency": "day", "lag": 0, "drift": 0.0, "season": 0.0, "revised": 0.0}
    bank = f"Central Bank of {place.name}"
    if indicator == "Stock Index":
        return "STOCK INDEX", common | {
            "unit": "points", "authority": f"Stock Exchange of {place.name}", "clock": "0", "form": "walk",
            "start": _STOCKS[economy], "drift": 0.06, "noise": 0.0095, "decimals": 2,
        }  # fmt: skip
    if indicator == "FX Rate":
        fixed = {"HK": ("rate", 0.0004), "CN": ("rate", 0.0011)}.get(economy, ("walk", 0.0042))
        return f"EXCHANGE RATE ({place.currency} PER USD)", common | {
            "unit": f"{place.currency} per USD", "authority": bank, "clock": "30", "form": fixed[0],
            "start": place.per_dollar, "noise": fixed[1], "decimals": 2 if economy == "JP" else 4,
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
    return words, common | {
        "unit": "percent a year", "authority": bank, "clock": "60", "form": "rate", "start": starts[economy],
        "noise": step / starts[economy] * min(1.0, 0.3 + starts[economy] / 4), "like": like,
        "decimals": 4 if economy == "CN" else 3 if economy in {"JP", "DE", "FR"} else 2,
    }  # fmt: skip


def _monthly(indicator: str, economy: str) -> tuple[str, dict[str, object]] | None:
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
        moves = {"drift": drift, "noise": noise, "season": noise, "start": 104.0}
        if economy in _YEARLY[indicator]:
            return f"{words}, CHANGE ON A YEAR BEFORE", common | moves | {
                "unit": "percent",
                "form": "yearly",
                "decimals": 1,
            }
        revised = 0.0 if indicator == "CPI" else 0.002
        return f"{words}, INDEX", common | moves | {
            "unit": "index, 2020 = 100", "form": "walk", "decimals": 1, "revised": revised}  # fmt: skip
    if indicator == "GDP":
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
