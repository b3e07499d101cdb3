"""A broker that is true by construction, and what a bad line makes of its messages."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple

from openfingym.market.brokers.reports import (
    AccountReport,
    BrokerExecution,
    Bust,
    Instrument,
    OrderReport,
    OrderState,
    Report,
    ReportSource,
    Submitted,
    Unanswered,
)
from openfingym.market.commands import Instant
from openfingym.trading.orders import OrderType, Side, TimeInForce

S = 1_000_000_000
GRACE = 10 * S
INSTRUMENTS = [Instrument("BTCUSDT", "BTC", "USDT"), Instrument("ETHUSDT", "ETH", "USDT")]
ASSETS = ("BTC", "ETH", "USDT", "BNB")
START = {"BTC": Decimal("3.5"), "ETH": Decimal(0), "USDT": Decimal(100000), "BNB": Decimal(7)}


class Step(NamedTuple):
    """Something that became true at a time."""

    time: int
    order: Submitted | None
    told: tuple[Report, ...] = ()
    """What the stream says of it."""
    moved: tuple[tuple[str, Decimal], ...] = ()


class Model:
    """Orders of one account from first to last, all ended."""

    def __init__(self, rng: random.Random, *, ids_agree: bool, busts: bool, surprises: bool) -> None:
        self.rng, self.ids_agree, self.busts, self.surprises = rng, ids_agree, busts, surprises
        self.steps: list[Step] = []
        self.activities: list[tuple[int, BrokerExecution | Bust]] = []
        self.last_reports: dict[str, list[tuple[int, OrderReport]]] = defaultdict(list)
        self._id = 0
        for number in range(rng.randrange(1, 5)):
            self._live(number)
        if surprises:
            self.steps.append(Step(rng.randrange(60) * S, None, (), (("USDT", Decimal(rng.randrange(1, 500))),)))
        self.steps.sort(key=lambda step: step.time)
        self.end = max(step.time for step in self.steps)

    def _next(self) -> str:
        self._id += 1
        return f"{self._id}-{self.rng.randrange(10)}"

    def _live(self, number: int) -> None:
        rng, time = self.rng, self.rng.randrange(1, 40) * S
        item = rng.choice(INSTRUMENTS)
        quantity = Decimal(rng.randrange(1, 9)) / 4
        limit = Decimal(rng.randrange(90, 110))
        order = Submitted(
            f"c{number}",
            item.symbol,
            rng.choice(list(Side)),
            quantity,
            OrderType.LIMIT,
            TimeInForce.GTC,
            limit,
            None,
            limit,
            time,
        )
        order_id = f"o{number}"
        live: list[BrokerExecution] = []

        def state(state: OrderState) -> OrderReport:
            filled = sum((one.quantity for one in live), Decimal(0))
            cost = sum((one.quantity * one.price for one in live), Decimal(0))
            report = OrderReport(order_id, order.client_id, item.symbol, order.side, quantity, filled, cost, state)
            self.last_reports[order.client_id].append((time, report))
            return report

        self.steps.append(Step(time, order, (state(OrderState.OPEN),)))
        left = quantity
        while left and rng.random() < 0.8:
            time += rng.randrange(1, 2 * S)
            part = left if rng.random() < 0.4 else min(left, Decimal(1) / 4)
            left -= part
            cumulative = quantity - left
            asset = rng.choice([item.base, item.quote, "BNB", ""])
            fill = BrokerExecution(
                order_id,
                self._next(),
                item.symbol,
                order.side,
                part,
                Decimal(rng.randrange(90, 110)),
                time,
                ReportSource.STREAM,
                Decimal(rng.randrange(1, 9)) / 1000 if asset else Decimal(0),
                asset,
                "" if self.ids_agree else f"{cumulative}/{part}",
                order.client_id,
            )
            live.append(fill)
            self._trade(time, fill, (fill, state(OrderState.OPEN if left else OrderState.FILLED)))
            if self.busts and rng.random() < 0.3:
                time += rng.randrange(1, S)
                self._reverse(time, rng.choice(live), live)
        if left:
            time += rng.randrange(1, 5 * S)
            self.steps.append(Step(time, None, (state(OrderState.CANCELLED),)))

    def _trade(self, time: int, fill: BrokerExecution, told: tuple[Report, ...], sign: int = 1) -> None:
        base = fill.symbol.removesuffix("USDT")
        moved = [(base, sign * fill.side * fill.quantity), ("USDT", -sign * fill.side * fill.quantity * fill.price)]
        if fill.fee_asset:
            moved.append((fill.fee_asset, -sign * fill.fee))
        if self.surprises and sign > 0 and fill.side > 0:
            moved.append((base, Decimal("-0.0005")))  # a fee that no execution states
        self.steps.append(Step(time, None, told, tuple(moved)))
        if sign > 0:
            self.activities.append((time, self.activity(fill)))

    def _reverse(self, time: int, fill: BrokerExecution, live: list[BrokerExecution]) -> None:
        live.remove(fill)
        bust = Bust(fill.order_id, fill.id, ReportSource.STREAM)
        self._trade(time, fill, (bust,), -1)
        activity = self.activity(fill)
        self.activities.append((time, Bust(fill.order_id, activity.id, ReportSource.ACTIVITY)))

    def activity(self, fill: BrokerExecution) -> BrokerExecution:
        """The same fill as an answer to a question has it."""
        name = fill.id if self.ids_agree else f"activity {fill.id}"
        return fill._replace(source=ReportSource.ACTIVITY, id=name, client_id="")

    def holdings(self, time: int) -> dict[str, Decimal]:
        """What is held at a time."""
        held = dict(START)
        for step in self.steps:
            if step.time <= time:
                for asset, change in step.moved:
                    held[asset] += change
        return held

    def account(self, started: int, lag: int) -> AccountReport:
        """The account's answer to a question, so much behind."""
        return AccountReport(self.holdings(started - lag), started)

    def order(self, client_id: str, time: int) -> OrderReport | None:
        """The answer to a question for an order."""
        known = [report for when, report in self.last_reports[client_id] if when <= time]
        return known[-1] if known else None

    def deliveries(self) -> list[tuple[int, int, Report]]:
        """(when, tie, what) reaches the mirror over a line that delays, drops and repeats, in the order of arrival."""
        rng, found = self.rng, []

        def deliver(time: int, report: Report) -> None:
            found.append((time, len(found), report))

        deliver(0, self.account(0, 0))
        for step in self.steps:
            if step.order is not None:
                deliver(step.time - 1, step.order)
                if rng.random() < 0.3:
                    deliver(step.time + rng.randrange(20 * S), Unanswered(step.order.client_id))
            for report in step.told:
                for _ in range(rng.choice([0, 1, 1, 1, 2])):
                    deliver(step.time + rng.randrange(30 * S), report)
        for started in range(rng.randrange(S), self.end + 30 * S, rng.choice([2 * S, 5 * S, 20 * S])):
            deliver(started + rng.randrange(8 * S), self.account(started, rng.randrange(GRACE)))
        for _ in range(rng.randrange(8)):
            started = rng.randrange(self.end + 30 * S)
            delay = rng.randrange(8 * S)
            if rng.random() < 0.3:
                for time, activity in self.activities:
                    if time <= started:
                        deliver(started + delay, activity)
            else:
                report = self.order(rng.choice(sorted(self.last_reports)), started)
                if report is not None:
                    deliver(started + delay, report)
        return sorted(found)

    def everything(self) -> list[tuple[int, int, Report]]:
        """The answers to all questions, once all is over and the line is good."""
        last = self.end + 60 * S
        reports = [self.order(client, last) for client in self.last_reports]
        found = [(last, 0, report) for report in (*reports, *(one for _, one in self.activities)) if report is not None]
        return found + [(last + wait, 0, self.account(last + wait, 0)) for wait in (15 * S, 30 * S)]


def at(time: int) -> Instant:
    """That time by both clocks."""
    return Instant(time, time)
