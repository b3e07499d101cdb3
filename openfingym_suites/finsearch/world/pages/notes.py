"""News of the simulated market: splits and dividends, large moves, weekly notes, and reviews of indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise

import numpy as np

from openfingym_suites.finsearch.world.equities import ShareAction
from openfingym_suites.finsearch.world.pages.facts import Facts, InstrumentPrices
from openfingym_suites.finsearch.world.pages.page import SITES, WebPage, address, at, later
from openfingym_suites.finsearch.world.quoting import thirty_seconds
from openfingym_suites.finsearch.world.roster import SimulatedCompany

LARGE = 0.065
"""Change from close to close from which a move is news, as a share."""
YEAR = 252
"""Sessions of a year."""
_MARKETS = {"C500.IDX": ("US", ("TEN.IDX",)), "SHC.IDX": ("China", ()), "HK60.IDX": ("Hong Kong", ())}
"""Indices that have weekly notes: their market, and other indices that the notes state."""


def announcement_pages(facts: Facts) -> Iterator[WebPage]:
    """A page for each split and dividend, published when it is announced."""
    for history in facts.prices.values():
        if history.company is not None:
            for action, known in history.actions:
                yield _announcement(history, history.company, action, known)


def _announcement(
    history: InstrumentPrices, company: SimulatedCompany, action: ShareAction, known: datetime
) -> WebPage:
    symbol, ex_date = history.symbol, action.ex_date.isoformat()
    chinese = company.home == "cn" and history.share_class == "A"
    name = company.name_zh if chinese else company.name
    if action.kind == "split":
        new, old = action.new_shares or 0.0, action.old_shares or 1.0
        terms = f"每{old:g}股变为{new:g}股" if chinese else f"{new:g} new shares for every {old:g} held"
        kind = ("股份拆细" if chinese else "share split") if new > old else "share consolidation"
    else:
        # The mainland states dividends for ten shares.
        ten = (action.amount or 0.0) * 10
        terms = (
            f"每10股派发现金红利{ten:g}元(含税)"
            if chinese
            else f"a dividend of {action.amount:g} {action.currency} per share, before tax"
        )
        kind = "利润分配" if chinese else "dividend"
    if chinese:
        text = (
            f"{name}({symbol})公告:{terms}。"
            f"股权登记日为除权除息日前一交易日,除权除息日为{ex_date}。"
            "此前价格不作复权调整。模拟公司,并不存在。"
        )
        title = f"{name}({symbol})关于{kind}的公告"
    else:
        text = (
            f"The board of {name} ({symbol}) announces {terms}. The ex-date is {ex_date}. "
            "Prices before it are not adjusted by the exchange. A simulated company: it does not exist."
        )
        title = f"{name} ({symbol}): announcement of a {kind}"
    url = address("exchange", action.announced, symbol, action.kind, ex_date)
    language = "zh" if chinese else "en"
    return WebPage(url, title, SITES["exchange"], language, "announcement", [symbol], known, text)


def move_pages(facts: Facts) -> Iterator[WebPage]:
    """News of shares that moved much, except on ex-dates, on which the price falls by what the holder gets."""
    for history in facts.prices.values():
        if history.company is None or len(history.days) < 2:
            continue
        close = history.values[:, 3]
        change = close[1:] / close[:-1] - 1
        ex_dates = {action.ex_date for action, _ in history.actions}
        splits = sorted(action.ex_date for action, _ in history.actions if action.kind == "split")
        for place in (np.flatnonzero(np.abs(change) > LARGE) + 1).tolist():
            if history.days[place] not in ex_dates:
                yield _move(history, place, float(change[place - 1]), splits)


def _move(history: InstrumentPrices, place: int, change: float, splits: Sequence[date]) -> WebPage:
    company, day = history.company, history.days[place]
    assert company is not None
    first = max(place - YEAR + 1, 0)
    # A year's range means nothing across a split.
    first = max([first, *(i for i in range(first, place + 1) if history.days[i] in set(splits))])
    opened, high, low, close, volume = history.values[place].tolist()
    highest, lowest = history.values[first : place + 1, 1].max(), history.values[first : place + 1, 2].min()
    published = later(history.close_at(place), 35)
    if company.home != "us":
        name = company.name_zh
        title = f"{name}({history.symbol})收盘{'上涨' if change > 0 else '下跌'}{abs(change):.2%}"
        text = (
            f"{day:%Y年%m月%d日},{name}({history.symbol})收报{close:.2f}{_money(history.currency)},"
            f"较前一交易日收盘价{history.values[place - 1, 3]:.2f}{'上涨' if change > 0 else '下跌'}{abs(change):.2%}。"
            f"开盘{opened:.2f},最高{high:.2f},最低{low:.2f},"
            f"成交量{volume / 1e4:,.2f}万股。近{place - first + 1}个交易日最高{highest:.2f},最低{lowest:.2f}。"
            f"行业(模拟市场分类):{company.industry.name_zh}。价格未复权。本文为模拟新闻。"
        )
        url = address("news zh", day, history.symbol, "move")
        return WebPage(url, title, SITES["news zh"], "zh", "news", [history.symbol], published, text)
    verb = "jumps" if change > 0 else "slides"
    title = f"{company.name} ({history.symbol}) {verb} {abs(change):.2%}"
    text = (
        f"Shares of {company.name} ({history.symbol}) closed at {close:,.2f} {history.currency} on {day:%A, %d %B %Y}, "
        f"{abs(change):.2%} {'above' if change > 0 else 'below'} the previous close of "
        f"{history.values[place - 1, 3]:,.2f}. They had opened at {opened:,.2f} and traded between {low:,.2f} and "
        f"{high:,.2f}; {volume:,.0f} shares changed hands. "
        f"In the last {place - first + 1} sessions they were between {lowest:,.2f} and {highest:,.2f}. "
        f"{company.name} is in {company.industry.name} by the simulated market's classification. Simulated news: "
        "nothing of it happened."
    )
    return WebPage(
        address("news", day, history.symbol, "move"),
        title,
        SITES["news"],
        "en",
        "news",
        [history.symbol],
        published,
        text,
    )


def _money(currency: str) -> str:
    return {"CNY": "元", "HKD": "港元", "USD": "美元"}.get(currency, currency)


def week_pages(facts: Facts) -> Iterator[WebPage]:
    """Notes on each week of three markets, in English, and of those of Greater China also in Chinese."""
    for symbol, (place_name, more) in _MARKETS.items():
        index = facts.prices.get(symbol)
        if index is None:
            continue
        last_of: dict[tuple[int, int], int] = {}
        for place, day in enumerate(index.days):
            last_of[day.isocalendar()[:2]] = place
        ends = list(last_of.values())
        for start, end in pairwise(ends):
            # By three o'clock on Saturday, in UTC, all markets have closed, wherever they are.
            saturday = index.days[end] + timedelta(days=5 - index.days[end].weekday())
            published = at(saturday, "03:00", "UTC")
            yield _week(facts, index, place_name, more, start, end, published, "en")
            if symbol != "C500.IDX":
                yield _week(facts, index, place_name, more, start, end, published, "zh")


def _week(
    facts: Facts,
    index: InstrumentPrices,
    place_name: str,
    more: Sequence[str],
    start: int,
    end: int,
    published: datetime,
    language: str,
) -> WebPage:
    """The note on a week.

    Args:
        facts: facts that the note may state.
        index: the index of the market.
        place_name: name of the market.
        more: other indices that the note states.
        start: place of the last session of the week before.
        end: place of the last session of the week.
        published: time of the publication.
        language: language of the note, ``en`` or ``zh``.
    """
    day, level, before = index.days[end], index.values[end, 3], index.values[start, 3]
    change = level / before - 1
    chinese = language == "zh"
    others = [*more, *_ALONGSIDE[place_name]]
    if place_name == "US":
        others += _front(facts, published)
    lines = []
    for symbol in others:
        history = facts.prices.get(symbol)
        # The last close that is known; of what has not traded for a week, none.
        count = history.until(published) if history else 0
        if history is None or not count or history.days[count - 1] < day - timedelta(days=6):
            continue
        close = float(history.values[count - 1, 3])
        shown = f"{close:,.{5 if close < 1 else 4}f}" if history.kind.startswith("fx") else f"{close:,.2f}"
        if "32nds" in history.unit:
            shown = f"{thirty_seconds(close)} ({close:.6f})"
        name = history.name_zh if chinese else history.name
        lines.append(f"{name}({symbol}){history.days[count - 1]}:{shown}" if chinese
                     else f"{name} ({symbol}), close of {history.days[count - 1]}: {shown} {history.unit}")  # fmt: skip
    if chinese:
        title = f"{index.name_zh}周评:{day:%Y年%m月%d日}收报{level:,.2f}点"
        head = (f"{index.name_zh}({index.symbol})本周收报{level:,.2f}点,较上周收盘{before:,.2f}点"
                f"{'上涨' if change >= 0 else '下跌'}{abs(change):.2%}。")  # fmt: skip
        text = "\n".join([head, *lines, "本文为模拟市场评论。"])
        url = address("news zh", day, index.symbol, "week")
        return WebPage(url, title, SITES["news zh"], "zh", "market note", [index.symbol], published, text)
    title = f"{place_name} market, week to {day:%d %B %Y}: {index.name} at {level:,.2f}"
    head = (f"The {index.name} ({index.symbol}) ended the week of {day:%d %B %Y} at {level:,.2f} points, "
            f"{abs(change):.2%} {'above' if change >= 0 else 'below'} the {before:,.2f} of a week before.")  # fmt: skip
    text = "\n".join([head, *lines, "A note on simulated markets."])
    url = address("news", day, index.symbol, "week")
    return WebPage(url, title, SITES["news"], "en", "market note", [index.symbol], published, text)


_ALONGSIDE = {
    "US": ("XAUUSD-LONDON", "CRUDE-SPOT"),
    "China": ("USDCNY-ONSHORE", "USDCNH-OFFSHORE", "USDCNY-FIXING", "EURCNY-FIXING", "HKDCNY-FIXING"),
    "Hong Kong": ("USDHKD-SPOT", "USDCNH-OFFSHORE", "XAUUSD-LONDON"),
}


def _front(facts: Facts, moment: datetime) -> list[str]:
    """The symbols of the front contracts of gold and of notes: of those that trade, the first to expire."""
    front = []
    since = moment.date() - timedelta(days=5)
    for root in ("GD", "TN"):
        alive = []
        for symbol, history in facts.prices.items():
            if symbol.startswith(root) and symbol.endswith(".FUT"):
                count = history.until(moment)
                if count and history.days[count - 1] >= since:
                    alive.append(symbol)
        # Symbols have year and month, so the first is the next to expire.
        front += sorted(alive)[:1]
    return front


def review_pages(facts: Facts) -> Iterator[WebPage]:
    """Announcements of the members of an index, with each of its reviews."""
    for symbol, review, known in facts.reviews:
        index = facts.prices.get(symbol)
        if index is None:
            continue
        members = [facts.prices[member] for member in review.members if member in facts.prices]
        named = [f"{member.name} ({member.symbol})" for member in members]
        text = (
            f"Members of the {index.name} ({symbol}) from {review.day} on, in equal weights on that day: "
            f"{'; '.join(named)}. The index holds the ten largest companies of the simulated US market by "
            "value. Simulated."
        )
        title = f"{index.name}: members from {review.day}"
        url = address("exchange", review.announced, symbol, "review")
        yield WebPage(url, title, SITES["exchange"], "en", "announcement", [symbol, *review.members], known, text)
