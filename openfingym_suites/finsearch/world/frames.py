"""The simulated market as rows of the vault's tables, and rows that say what real instruments and series are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from openfingym_suites.finsearch.world.calendars import NEW_YORK, ExchangeSessions, Hours
from openfingym_suites.finsearch.world.equities import PricedLine
from openfingym_suites.finsearch.world.indices import PricedIndex, Review
from openfingym_suites.finsearch.world.rates import PricedRate
from openfingym_suites.finsearch.world.specs import INSTRUMENTS, SERIES_INFO

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.vault import Vault
    from openfingym_suites.finsearch.world.paths import Floats

_COUNTRY = {"XNYS": "US", "XNAS": "US", "XSHG": "CN", "XSHE": "CN", "XHKG": "HK"}
_REAL_STOCKS = (
    ("AAPL", "Apple", "苹果", "XNAS", "us-stocks-ohlcv", "aapl_", ("AAPL.O", "Apple Inc.")),
    ("IBM", "International Business Machines", "国际商业机器", "XNYS", "us-stocks-ohlcv", "ibm_", ("IBM.N",)),
    ("MSFT", "Microsoft", "微软", "XNAS", "us-stocks-ohlcv", "msft_", ("MSFT.O", "Microsoft Corporation")),
    ("GOOG", "Google", "谷歌", "XNAS", "goog-ohlcv", "", ("GOOG.O", "Google Inc.")),
)
"""Real shares of the table ``market``: symbol, names, exchange, data set, how its channels begin, and aliases."""
REAL_SPLITS = (("AAPL", date(2000, 6, 21)), ("MSFT", date(2003, 2, 18)), ("AAPL", date(2005, 2, 28)))
"""Splits of the real shares, all two for one, with the first day in new shares, on days of which there are prices."""
_MATURITIES = {"1m": "1M", "3m": "3M", "6m": "6M", "1y": "1Y", "2y": "2Y", "3y": "3Y", "5y": "5Y", "7y": "7Y",
               "10y": "10Y", "20y": "20Y", "30y": "30Y"}  # fmt: skip


def before_opening(day: date, hours: Hours) -> datetime:
    """Midnight at a market, with which a day begins there, in UTC."""
    return datetime.combine(day, time(0), ZoneInfo(hours.zone)).astimezone(UTC)


def after_close(day: date, hours: Hours) -> datetime:
    """Three hours after a market's regular close, in UTC: when what a company announces on a day is out."""
    at = datetime.combine(day, time.fromisoformat(hours.closes), ZoneInfo(hours.zone)) + timedelta(hours=3)
    return at.astimezone(UTC)


def bars(lines: Sequence[PricedLine], others: Sequence[PricedIndex | PricedRate]) -> Iterator[pd.DataFrame]:
    """Rows of ``bars``, a frame for each instrument."""
    for line in lines:
        yield _bars(line.line.symbol, line.times, line.bars)
    for other in others:
        yield _bars(other.symbol, other.times, other.bars)


def _bars(symbol: str, times: ExchangeSessions, values: Floats) -> pd.DataFrame:
    """The bars of one instrument, each known with the close of its session."""
    import pandas as pd

    return pd.DataFrame(
        {
            "symbol": symbol,
            "date": times.days,
            **{name: values[:, place] for place, name in enumerate(("open", "high", "low", "close", "volume"))},
            "open_at": times.open_at,
            "close_at": times.close_at,
            "known_at": times.close_at,
        }
    )


def actions(lines: Sequence[PricedLine]) -> pd.DataFrame:
    """Rows of ``actions``."""
    import pandas as pd

    rows = []
    for line in lines:
        for action in line.actions:
            record = action.ex_date + timedelta(days=1)
            pay = action.ex_date + timedelta(days=1 if action.kind == "split" else 21)
            known = after_close(action.announced, line.line.hours)
            rows.append({**asdict(action), "record_date": record, "pay_date": pay, "known_at": known})
    # Of real splits, the first day in new shares is what the prices' source has; that they were announced before is
    # not in it, so they are known from the close of that day.
    for symbol, first_day in REAL_SPLITS:
        split = {"symbol": symbol, "kind": "split", "ex_date": first_day, "new_shares": 2.0, "old_shares": 1.0}
        rows.append({**split, "known_at": after_close(first_day, NEW_YORK)})
    columns = ["symbol", "kind", "announced", "ex_date", "record_date", "pay_date", "new_shares", "old_shares",
               "amount", "currency", "known_at"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def constituents(indices: Sequence[PricedIndex]) -> pd.DataFrame:
    """Rows of ``constituents``: when a share joined an index, and, as a vintage of that, when it left."""
    import pandas as pd

    rows: list[tuple[str, str, date, date | None, datetime]] = []
    for index in indices:
        member_since: dict[str, date] = {}
        reviews: Sequence[Review] = index.reviews
        for review in reviews:
            known = after_close(review.announced, index.hours)
            last = review.day - timedelta(days=1)
            # Who leaves was a member up to the day before the review takes effect.
            left = sorted(set(member_since) - set(review.members))
            rows += [(index.symbol, symbol, member_since.pop(symbol), last, known) for symbol in left]
            for symbol in review.members:
                if symbol not in member_since:
                    member_since[symbol] = review.day
                    rows.append((index.symbol, symbol, review.day, None, known))
    return pd.DataFrame(rows, columns=["index_symbol", "symbol", "since", "until", "known_at"])


def instruments(
    lines: Sequence[PricedLine], indices: Sequence[PricedIndex], rates: Sequence[PricedRate], bundled: Vault
) -> pd.DataFrame:
    """Rows of ``instruments``: the simulated ones, and the real ones that the bundled vault has prices of."""
    import pandas as pd

    rows = [*_lines(lines), *_indices(indices), *_rates(rates), *_real(bundled)]
    return pd.DataFrame([{**_NOTHING, **row} for row in rows])


_NOTHING: dict[str, object] = dict.fromkeys(INSTRUMENTS.columns) | {
    "aliases": [], "name_zh": "", "company": "", "share_class": "", "industry": "", "industry_zh": "",
    "dataset": "", "channel": "", "held_in": "bars", "simulated": True,
}  # fmt: skip
"""What a row of ``instruments`` has where it states nothing else."""


def _lines(lines: Sequence[PricedLine]) -> Iterator[dict[str, object]]:
    """Rows of shares; one that is delisted has a second vintage, known when that was announced."""
    for priced in lines:
        line, company = priced.line, priced.company
        row: dict[str, object] = {
            "symbol": line.symbol,
            "aliases": [line.symbol.split(".")[0], company.id],
            "name": f"{company.name} (simulated)",
            "name_zh": f"{company.name_zh}(模拟)" if company.name_zh else "",
            "company": company.id,
            "share_class": line.share_class,
            "exchange": line.exchange,
            "calendar": line.hours.calendar,
            "timezone": line.hours.zone,
            "currency": line.currency,
            "country": _COUNTRY[line.exchange],
            "kind": "stock",
            "industry": company.industry.name,
            "industry_zh": company.industry.name_zh,
            "quote_unit": f"{line.currency} per share",
            "listed": priced.times.days[0].date(),
            "known_at": before_opening(priced.times.days[0].date(), line.hours),
        }
        yield row
        if priced.delisted and priced.delisting_known:
            yield {**row, "delisted": priced.delisted, "known_at": after_close(priced.delisting_known, line.hours)}


def _indices(indices: Sequence[PricedIndex]) -> Iterator[dict[str, object]]:
    """Rows of indices."""
    for index in indices:
        yield {
            "symbol": index.symbol,
            "aliases": [index.symbol.split(".")[0]],
            "name": f"{index.name} (simulated)",
            "name_zh": f"{index.name_zh}(模拟)",
            "exchange": index.hours.calendar,
            "calendar": index.hours.calendar,
            "timezone": index.hours.zone,
            "currency": index.currency,
            "country": index.country,
            "kind": "index",
            "quote_unit": "points",
            "listed": index.times.days[0].date(),
            "known_at": before_opening(index.times.days[0].date(), index.hours),
        }


def _rates(rates: Sequence[PricedRate]) -> Iterator[dict[str, object]]:
    """Rows of exchange rates, commodities and futures."""
    for rate in rates:
        yield {
            "symbol": rate.symbol,
            "aliases": list(rate.aliases),
            "name": f"{rate.name} (simulated)",
            "name_zh": f"{rate.name_zh}(模拟)",
            "exchange": rate.exchange,
            "calendar": rate.hours.calendar,
            "timezone": rate.hours.zone,
            "currency": rate.currency,
            "country": rate.country,
            "kind": rate.kind,
            "quote_unit": rate.quote_unit,
            "listed": rate.times.days[0].date(),
            "expires": rate.expires,
            "known_at": before_opening(rate.times.days[0].date(), rate.hours),
        }


def _real(bundled: Vault) -> Iterator[dict[str, object]]:
    """Rows of real shares and reference rates, each known with the first of its prices."""
    first: dict[str, tuple[date, datetime]] = {}
    datasets: dict[str, list[str]] = {}
    prices = bundled.hindsight(_END).sql(
        "SELECT dataset, channel, min(date) AS day, min(known_at) AS known FROM market GROUP BY ALL ORDER BY ALL"
    )
    for row in prices:
        dataset, channel, day = str(row["dataset"]), str(row["channel"]), row["day"]
        known = row["known"]
        assert isinstance(day, date)
        assert isinstance(known, datetime)
        # A rate may be in two data sets, one after the other in time.
        datasets.setdefault(channel, []).append(dataset)
        first[channel] = min(first.get(channel, (day, known)), (day, known))
    for symbol, name, name_zh, exchange, dataset, channel, aliases in _REAL_STOCKS:
        if f"{channel}close" not in first:
            continue
        _, known = first[f"{channel}close"]
        yield {
            "symbol": symbol, "aliases": list(aliases), "name": name, "name_zh": name_zh, "exchange": exchange,
            "calendar": "XNYS", "timezone": "America/New_York", "currency": "USD", "country": "US", "kind": "stock",
            "share_class": "common", "quote_unit": "USD per share", "listed": None, "held_in": "market",
            "dataset": dataset, "channel": channel, "simulated": False, "known_at": known,
        }  # fmt: skip
    for channel, (day, known) in sorted(first.items()):
        if not datasets[channel][0].startswith("ecb-fx"):
            continue
        base, quoted = channel.upper().split("_")
        yield {
            "symbol": f"{base}{quoted}", "aliases": [f"{base}/{quoted}", f"{base}/{quoted} ECB"],
            "name": f"{base}/{quoted}, from the euro foreign exchange reference rates of the ECB",
            "name_zh": f"{base}/{quoted}(欧洲央行参考汇率)", "exchange": "ECB", "calendar": "ECB",
            "timezone": "Europe/Berlin", "currency": quoted, "country": "", "kind": "fx reference",
            "quote_unit": f"{quoted} per {base}", "listed": day, "held_in": "market",
            "dataset": ",".join(datasets[channel]), "channel": channel, "simulated": False, "known_at": known,
        }  # fmt: skip


_END = datetime(2100, 1, 1, tzinfo=UTC)
"""A time by which everything is known."""


def real_series(bundled: Vault) -> pd.DataFrame:
    """Rows of ``series_info`` for the real series of the bundled vault, each known with its first figure."""
    import pandas as pd

    view = bundled.hindsight(_END)
    nothing = dict.fromkeys(SERIES_INFO.columns, "") | {"simulated": False}
    macro = view.sql(
        "SELECT series, any_value(name) AS name, any_value(units) AS units, any_value(frequency) AS frequency, "
        "any_value(source) AS source, min(known_at) AS known_at FROM macro GROUP BY series ORDER BY series"
    )
    stated = {"country": "US", "topic": "economy", "held_in": "macro"}
    rows = [{**nothing, **row, **stated, "channel": row["series"]} for row in macro]
    gdp = view.sql(
        "SELECT series, any_value(name) AS name, any_value(units) AS units, any_value(source) AS source, "
        "min(known_at) AS known_at FROM gdp GROUP BY series ORDER BY series"
    )
    stated = {"topic": "national accounts", "held_in": "gdp", "frequency": "quarterly"}
    rows += [{**nothing, **row, **stated, "country": row["series"], "channel": row["series"]} for row in gdp]
    for row in view.sql(
        "SELECT channel, string_agg(DISTINCT dataset, ',' ORDER BY dataset) AS dataset, min(known_at) AS known_at "
        "FROM market WHERE dataset LIKE 'ust-par-yields%' GROUP BY channel ORDER BY channel"
    ):
        maturity = _MATURITIES[str(row["channel"])]
        rows.append({**nothing, **row, "series": f"UST{maturity}", "name": f"US Treasury par yield, {maturity}",
                     "name_zh": f"美国国债收益率 {maturity}", "units": "%", "frequency": "daily", "country": "US",
                     "topic": "rates", "source": "US Department of the Treasury", "held_in": "market"})  # fmt: skip
    # A vault of a user's own may have statements without a target range.
    (first,) = view.sql("SELECT min(known_at) AS known_at FROM fomc_statements WHERE target_lower IS NOT NULL")
    for side in ("lower", "upper") if first["known_at"] else ():
        rows.append({**nothing, **first, "series": f"FED_TARGET_{side.upper()}",
                     "name": f"Federal funds target range, {side} end, on days of statements",
                     "name_zh": f"美国联邦基金目标利率{'下限' if side == 'lower' else '上限'}", "units": "%",
                     "frequency": "days of statements", "country": "US", "topic": "rates", "source": "FOMC",
                     "held_in": "fomc_statements", "channel": f"target_{side}"})  # fmt: skip
    return pd.DataFrame(rows)


def series(figures: Sequence[object]) -> pd.DataFrame:
    """Rows of ``series``."""
    import pandas as pd

    names = ("series", "reference_date", "value", "release", "known_at")
    return pd.DataFrame({name: [getattr(figure, name) for figure in figures] for name in names})
