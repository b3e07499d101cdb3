"""Guides: how things are defined and quoted, which is where most wrong answers come from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time

from openfingym.suites.finsearch.world.pages.facts import Facts
from openfingym.suites.finsearch.world.pages.page import SITES, Page, address

_GUIDES = (
    ("en", "Onshore yuan, offshore yuan and the central parity",
     "USD/CNY onshore (USDCNY-ONSHORE) trades in mainland China from 09:30 and its official close is at 16:30 in Shanghai. "
     "USD/CNH offshore (USDCNH-OFFSHORE) trades around the clock, and its day ends at 17:00 in New York. The central parity "
     "rate (USDCNY-FIXING) is published once, at 09:15 in Shanghai, before trading; it is not a price at which anybody "
     "traded. The ECB's euro reference rates, from which crosses such as USDCNY follow, are a fourth figure. The four differ."),
    ("zh", "在岸人民币、离岸人民币与中间价",
     "在岸人民币(CNY)在境内交易,官方收盘价为北京时间16:30;离岸人民币(CNH)在境外交易,以纽约时间17:00为日终;"
     "人民币汇率中间价于每个交易日北京时间9:15公布一次。三者数值不同,引用时应注明种类。"),
    ("en", "How note futures are quoted",
     "Ten-year note futures are quoted in points and 32nds of a point. 113'08'5 is 113 points, 8 thirty-seconds and half a "
     "thirty-second: 113 + 8.5/32 = 113.265625. The last digit is in tenths of a 32nd, here 0 or 5."),
    ("zh", "国债期货报价方式",
     "美国国债期货以点和1/32点报价。113'08'5表示113又8.5/32,即113.265625。"),
    ("en", "Fiscal years and calendar years",
     "A fiscal year is named after the calendar year in which it ends. Where it ends in January, fiscal year 2024 is nearly "
     "all of calendar 2023. Reports of US companies have no fourth quarter: it is the year less nine months."),
    ("zh", "财政年度与自然年度",
     "财政年度以结束日所在的自然年命名。A股公司的一季报、半年报、三季报均为年初至报告期末的累计数,单季数据需相减得到。"),
    ("en", "Accounting standards and adjusted figures",
     "Net income under US GAAP, IFRS or Chinese standards (CAS) is audited; adjusted net income is not and is higher, for it "
     "leaves out share-based pay. Companies with A and H shares report under CAS and under IFRS, and the two profits differ."),
    ("en", "Prices that are adjusted and prices that are not",
     "Exchanges publish prices as traded. Data sites divide old prices by later splits, and take later dividends off: such "
     "prices change with every action, and sites do it in different ways."),
    ("zh", "复权价格与不复权价格",
     "交易所公布的是不复权价格。前复权、后复权价格因数据商算法不同而不同,且会随以后的分红送转改变。"),
    ("en", "Market value of a company with A and H shares",
     "One definition multiplies each class by its own price and adds them up in one currency: A price times A shares plus H "
     "price times H shares. Many sites multiply all shares by one price instead, which gives another figure."),
    ("en", "London gold and COMEX gold",
     "London gold (XAUUSD-LONDON) is a spot price in dollars per troy ounce. COMEX gold is a future for delivery in a month, "
     "such as GD2406.FUT for June 2024, and is above spot by the cost of carry. A continuous future depends on when it rolls."),
    ("zh", "万、亿与计量单位",
     "1亿元等于1万万元,即100百万元。港股公司多以人民币千元或百万元列报,A股公司多以元列报。"),
    ("en", "First, revised and benchmark figures",
     "Statistics are revised. A first figure is what was known at the release; a revision follows a month or a quarter later, "
     "and benchmark revisions in November of the next year."),
)  # fmt: skip


def guide_pages(facts: Facts) -> Iterator[Page]:
    """All guides, there from the first day."""
    when = datetime.combine(facts.first_day, time(0), UTC)
    for number, (language, title, text) in enumerate(_GUIDES):
        url = address("guide", facts.first_day, f"guide {number:02d}")
        yield Page(url, title, SITES["guide"], language, "guide", [], when, f"{text} (Simulated market.)")
