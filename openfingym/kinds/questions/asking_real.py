"""Questions whose truths nobody knows yet: about a real market as it is now, or questions of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.kinds.questions.asking import SECOND, RolloutQuestions, data_of, question_for
from openfingym.kinds.questions.contract import QuestionsContract, questions_contract
from openfingym.questions.question import REAL_CLOCK, utc_text
from openfingym.questions.trading_days import days_to_come, last_to_close

if TYPE_CHECKING:
    from openfingym.questions import Question
    from openfingym.questions.provider import Provider
    from openfingym.questions.providers.price import PriceProvider
    from openfingym.task.contracts import Contract

GENERIC = "manual"
"""Provider of a task that has no market of its own, and is asked questions of the ledger."""
ASKABLE = ("polymarket", "price")
"""Providers with markets that questions can be made about when a rollout begins."""
FEWEST_GIVEN = 2
"""Fewest questions of the ledger that a rollout is asked: there is no score of one alone."""
DAY_S = 86_400
"""Seconds of a day."""
UNUSED = "Nothing is asked in this row, and nothing that is answered in it counts."
"""Text of a row of a submission that has no question."""


def can_ask(contract: Contract) -> bool:
    """Whether there is a real market that questions can be made about when a rollout is created."""
    return questions_contract(contract).provider in ASKABLE


def takes_questions(contract: Contract) -> bool:
    """Whether a task is asked the questions of the ledger that have its form."""
    return questions_contract(contract).provider == GENERIC


def ask_real(
    contract: Contract, provider: Provider, names: Sequence[str], count: int, rollout: str, now_ns: int
) -> RolloutQuestions:
    """Questions about a real market as it is now.

    Args:
        contract: the contract of the task.
        provider: the provider that will know the truths of the questions.
        names: names of the features of a question, in order.
        count: number of questions.
        rollout: id of the rollout.
        now_ns: present Unix time in nanoseconds.

    Raises:
        UsageError: the task has no market that questions can be made about.
        DataError: the market has too few questions, or its data make no sense.
        VenueError: the market cannot be reached.
    """
    own = questions_contract(contract)
    if own.provider == "polymarket":
        return _ask_markets(own, names, count, rollout, now_ns)
    if own.provider == "price":
        return _ask_prices(own, cast("PriceProvider", provider), count, rollout, now_ns)
    raise UsageError("this task is about no market; ask the questions that the ledger has")


def ask_given(questions: Sequence[Question], names: Sequence[str], count: int, now_ns: int) -> RolloutQuestions:
    """Questions of the ledger, of which only words and times are known.

    Features that are not known are 0, their mean in training; ``days`` is known. A submission has as many rows as ever:
    rows after those of the questions are unused, and their text says so.

    Args:
        questions: the questions to ask, at most ``count``.
        names: names of the features of a question, in order.
        count: number of private rows of a submission.
        now_ns: present Unix time in nanoseconds.
    """
    inputs = np.zeros((count, len(names)))
    if "days" in names:
        ends = np.array([question.evaluation_ns for question in questions], dtype=np.float64)
        inputs[: len(questions), names.index("days")] = (ends - now_ns) / (DAY_S * SECOND)
    data = data_of(inputs[: len(questions)], questions, now_ns)
    unused = count - len(questions)
    times, texts = data["test_times"], [*map(str, data["test_texts"]), *[UNUSED] * unused]
    return RolloutQuestions(
        tuple(questions),
        {
            "test_inputs": inputs,
            "test_times": np.concatenate([times, np.repeat(times[-1:], unused, axis=0)]),
            "test_texts": np.array(texts),
        },
        np.ones(len(questions)),
    )


def _ask_markets(
    contract: QuestionsContract, names: Sequence[str], count: int, rollout: str, now_ns: int
) -> RolloutQuestions:
    """Questions about the prediction markets with the most trade."""
    from openfingym.questions.open_markets import open_markets

    deadline = now_ns + contract.window_s * SECOND
    markets = open_markets(count, now_ns, deadline, now_ns + contract.longest_s * SECOND)
    questions = tuple(
        question_for(
            contract,
            f"{rollout}/{row}",
            market.text,
            (now_ns, deadline, market.ends_ns),
            contract.provider,
            {"market": market.market, "outcome": market.outcome},
            REAL_CLOCK,
            rules=market.rules,
        )
        for row, market in enumerate(markets)
    )
    inputs = np.array([[market.known[name] for name in names] for market in markets])
    return RolloutQuestions(questions, data_of(inputs, questions, now_ns), np.ones(count))


def _ask_prices(
    contract: QuestionsContract, provider: PriceProvider, count: int, rollout: str, now_ns: int
) -> RolloutQuestions:
    """Questions about the prices of the contract's symbols some bars ahead, with the returns of the bars before."""
    from openfingym.data.questions import SHOWN

    deadline = now_ns + contract.window_s * SECOND
    # One request a symbol, before any question is made: all questions about a symbol show the same price.
    known: dict[str, list[float]] = {}
    queries: dict[str, dict[str, str | float]] = {}
    units: dict[str, str] = {}
    for symbol in contract.markets:
        query: dict[str, str | float] = {"venue": contract.venue, "symbol": symbol}
        moments = (now_ns, deadline, deadline + SECOND)
        probe = question_for(contract, f"{rollout}/{symbol}", symbol, moments, contract.provider, query, REAL_CLOCK)
        history = provider.history(probe, contract.bar_s, SHOWN + 1, now_ns)
        closes = np.array(history.closes)
        price = float(history.reference["price"])
        if not (np.isfinite(closes).all() and closes.min() > 0.0 and 0.0 < price < float("inf")):
            raise DataError(f"{contract.venue} shows prices of {symbol} that are none")
        # The latest return first, as in the simulated questions.
        known[symbol] = [price, *np.log(closes[1:] / closes[:-1])[::-1]]
        queries[symbol], units[symbol] = query, history.currency
    questions, rows = [], []
    for row in range(count):
        # All symbols with the first horizon, then all with the second one, and so on.
        symbol = contract.markets[row % len(contract.markets)]
        ahead = contract.horizons[(row // len(contract.markets)) % len(contract.horizons)]
        price, *returns = known[symbol]
        end, when, more, rules = _end(contract, provider, queries[symbol], ahead, now_ns)
        questions.append(
            question_for(
                contract,
                f"{rollout}/{row}",
                f"{symbol} at {contract.venue}: how far will its price have moved {when}?",
                (now_ns, deadline, end),
                contract.provider,
                {**queries[symbol], **more},
                REAL_CLOCK,
                rules=rules,
                unit=units[symbol],
            )
        )
        rows.append([price, float(ahead), *returns])
    inputs = np.array(rows)
    return RolloutQuestions(tuple(questions), data_of(inputs, questions, now_ns), inputs[:, 0])


def _end(
    contract: QuestionsContract, provider: PriceProvider, query: dict[str, str | float], ahead: int, now_ns: int
) -> tuple[int, str, dict[str, str | float], str]:
    """When a question about a price is resolved, by a number of bars ahead.

    Args:
        contract: the contract of the task.
        provider: the provider of prices.
        query: what the provider is asked about the symbol.
        ahead: number of bars ahead.
        now_ns: present Unix time in nanoseconds.

    Returns:
        The Unix time in nanoseconds; the same as a phrase; further entries of the query; and the rules in words.
    """
    exchange = provider.hours(query)
    if exchange is None or contract.bar_s != DAY_S:
        # The provider resolves by bars of a minute; of shorter bars, by bars of a second.
        more: dict[str, str | float] = {"interval": "1s"} if contract.bar_s < 60 else {}
        return now_ns + ahead * contract.bar_s * SECOND, f"in {ahead * contract.bar_s} s", more, ""
    # Counted in sessions that have not begun: so many whole sessions lie between the price shown and the answer, also
    # over half days, holidays and changes of the clock.
    days = days_to_come(exchange, now_ns, ahead)
    basis = last_to_close(exchange, days[0].opens_ns).day.isoformat()
    when = f"at the close of {exchange} on {days[-1].day}, {utc_text(days[-1].closes_ns)}"
    if "split_basis" not in provider.venues[str(query["venue"])].keys:
        return days[-1].closes_ns, when, {}, ""
    rules = (
        f"The price of a share as it was on {basis}: later splits are undone, dividends are not added. The returns "
        "that are shown are of closes with splits undone, without dividends."
    )
    return days[-1].closes_ns, when, {"split_basis": basis}, rules
