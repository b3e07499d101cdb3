"""Simulated questions with their outcomes: prediction markets, prices of coins and stocks, and events without a market.

Each row is a question by itself, asked at its own time, and none tells the outcome of another. In the prediction
markets there is something to find: the price shrinks towards a half (favourites are too cheap, longshots too dear)
and overreacts to the news of the last day::

    logit(price) = SHRINK theta + REACTION news + noise(volume)        outcome ~ Bernoulli(sigmoid(theta))

Prices of coins and stocks have no drift that could be forecast; their volatility comes in clusters, GARCH(1, 1) with
Student t shocks, so that the width of a forecast is what tells the better one. Events come with signals instead of a
price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.dataset import DatasetInfo, require_simulated, suggestion
from openfingym.data.processes.draws import normals, stream, students, uniforms
from openfingym.data.processes.sets import paths_digest
from openfingym.data.simulate import significant
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.processes.draws import Bits, Branch

    Floats = NDArray[np.float64]

HOUR = 3_600_000_000_000
"""Nanoseconds in an hour."""
FIRST = "2019-01-01T00:00"
"""When the first questions are asked, UTC."""
SHRINK, REACTION = 0.75, 0.6
"""How much of the truth, and of the last day's news, is in a market's price, both on the scale of log odds."""
SHOWN = 24
"""Bars before a question whose returns it shows."""
BURN_IN = 200
"""Bars drawn before those, so that volatility has forgotten where it began."""


@dataclass(frozen=True, eq=False)
class QuestionRows:
    """Questions in the order in which they were asked, with what was known then and what came of it."""

    times: NDArray[np.datetime64]
    """datetime64[ns][n, 3], UTC: when a question is asked, its deadline, and when it can be resolved."""
    texts: tuple[str, ...]
    """The text of each question."""
    features: Floats
    """float64[n, features], known when the question was asked; a ``price`` among them is what the market showed."""
    names: tuple[str, ...]
    """Names of the features."""
    targets: Floats
    """float64[n], the outcomes: 1 or 0 for an event that happened or not, else the price's move as a fraction of the
    price shown."""
    info: DatasetInfo


@dataclass(frozen=True)
class PriceSet:
    """Parameters of a set of questions about prices."""

    symbols: tuple[str, ...]
    prices: tuple[float, ...]
    """About where each symbol trades, in USD."""
    volatility: tuple[float, ...]
    """Standard deviation of a bar's log return, for each symbol."""
    horizons: tuple[int, ...]
    """How many bars ahead a question asks; the questions take them in turn."""
    bar_h: int
    """Length of a bar in hours."""
    noun: str
    """What a symbol is called in the text of a question."""


COINS = PriceSet(
    symbols=("BTC", "ETH", "SOL", "XRP", "DOGE"),
    prices=(60_000.0, 3_000.0, 150.0, 0.6, 0.12),
    volatility=(0.006, 0.008, 0.011, 0.01, 0.013),
    horizons=tuple(range(1, 13)),
    bar_h=1,
    noun="coin",
)
STOCKS = PriceSet(
    symbols=("AAPL", "MSFT", "NVDA", "AMZN", "GOOGL", "META", "JPM", "XOM", "UNH", "SPY"),
    prices=(200.0, 400.0, 120.0, 180.0, 170.0, 500.0, 200.0, 110.0, 500.0, 550.0),
    volatility=(0.016, 0.015, 0.03, 0.019, 0.017, 0.022, 0.014, 0.015, 0.014, 0.01),
    horizons=tuple(range(1, 7)),
    bar_h=24,
    noun="stock",
)
ROWS, WAVE = 1500, 60
"""Questions of a set, and how many are asked at once."""
_Drawn = tuple[tuple[str, ...], tuple[str, ...], "Floats", "Floats", "NDArray[np.int64]"]


@dataclass(frozen=True)
class _Known:
    """A set of questions, and how it is made."""

    title: str
    seed: int
    sha256: str
    """Hex digest of features, then targets, of the set as it is released."""
    draw: Callable[[int, Branch | None], _Drawn]
    """Given a seed and a branch, returns texts, names, features, targets, and hours from asking to resolving."""
    unit: str
    """What a target measures."""
    wave_h: int
    """Hours from one wave of questions, all asked at once, to the next: more than any of them takes."""


def _markets(seed: int, branch: Branch | None) -> _Drawn:
    """Prediction markets."""
    # theta is the log odds of the event, which nobody is shown. Each quantity has a stream of its own.
    theta = 1.3 * normals(stream(seed, 0, branch=branch), ROWS)
    news = normals(stream(seed, 1, branch=branch), ROWS)
    volume = 10.0 ** (2.0 + 4.0 * uniforms(stream(seed, 2, branch=branch), ROWS))
    noise = normals(stream(seed, 3, branch=branch), ROWS) * 0.4 / np.sqrt(np.log10(volume))
    days = np.ceil(60.0 * uniforms(stream(seed, 4, branch=branch), ROWS))
    belief = SHRINK * theta + REACTION * 0.5 * news + noise
    price = _ticks(_sigmoid(belief))
    # A day ago the news was not known yet; a week ago, less of the truth as well.
    day, week = (_ticks(_sigmoid(belief - part)) for part in (0.8 * news, 0.8 * news + 0.3 * theta))
    # Half the spread: half a cent, and a cent and a half where little is traded.
    half = 0.005 + 0.01 * (volume < 10_000.0)
    happened = (uniforms(stream(seed, 5, branch=branch), ROWS) < _sigmoid(theta)).astype(np.float64)
    features = np.stack(
        [
            price,
            np.maximum(_thousandths(price - half), 0.001),
            np.minimum(_thousandths(price + half), 0.999),
            _thousandths(price - day),
            _thousandths(price - week),
            significant(volume, 4),
            days,
        ],
        axis=1,
    )
    names = ("price", "bid", "ask", "change_1d", "change_1w", "volume_24h", "days")
    texts = tuple(
        f"SIMULATED market {row}: will it resolve to YES, {int(ahead)} days later?" for row, ahead in enumerate(days)
    )
    return texts, names, features, happened, (24 * days).astype(np.int64)


def _prices(kind: PriceSet) -> Callable[[int, Branch | None], _Drawn]:
    def draw(seed: int, branch: Branch | None) -> _Drawn:
        row = np.arange(ROWS)
        # Every symbol in turn, and with each round of them the next horizon.
        symbol, turn = row % len(kind.symbols), (row // len(kind.symbols)) % len(kind.horizons)
        horizon = np.array(kind.horizons)[turn]
        usual = np.array(kind.volatility)[symbol]
        returns = usual[:, None] * _clustered(stream(seed, 0, branch=branch), BURN_IN + SHOWN + max(kind.horizons))
        # Each question has a price path of its own, from a level of its own: none tells the outcome of another.
        start = np.array(kind.prices)[symbol] * np.exp(0.3 * normals(stream(seed, 1, branch=branch), ROWS))
        price = significant(start, 6)
        shown = np.rint(returns[:, BURN_IN : BURN_IN + SHOWN] * 1e6) / 1e6
        moved = np.cumsum(returns[:, BURN_IN + SHOWN :], axis=1)[row, horizon - 1]
        features = np.column_stack([price, horizon.astype(np.float64), shown[:, ::-1]])
        names = ("price", "horizon", *(f"return_{ago}" for ago in range(1, SHOWN + 1)))
        texts = tuple(
            f"SIMULATED {kind.noun} {kind.symbols[which]}: how far will its price have moved in {ahead * kind.bar_h} h?"
            for which, ahead in zip(symbol, horizon, strict=True)
        )
        return texts, names, features, np.rint(np.expm1(moved) * 1e6) / 1e6, horizon * kind.bar_h

    return draw


def _events(seed: int, branch: Branch | None) -> _Drawn:
    """Events without a market."""
    signals = np.rint(normals(stream(seed, 0, branch=branch), ROWS, 5) * 1e4) / 1e4
    days = np.ceil(30.0 * uniforms(stream(seed, 1, branch=branch), ROWS))
    polls, trend, experts, history, media = signals.T
    score = -0.7 + 1.1 * polls + 0.5 * trend * (days < 10.0) + 0.8 * np.maximum(experts, 0.0) + 0.3 * history
    happened = (uniforms(stream(seed, 2, branch=branch), ROWS) < _sigmoid(score)).astype(np.float64)
    features = np.column_stack([polls, trend, experts, history, media, days])
    texts = tuple(
        f"SIMULATED event {row}: will it have happened {int(ahead)} days later?" for row, ahead in enumerate(days)
    )
    return (
        texts,
        ("polls", "trend", "experts", "history", "media", "days"),
        features,
        happened,
        (24 * days).astype(np.int64),
    )


_SETS: Mapping[str, _Known] = MappingProxyType(
    {
        "sim-prediction-markets": _Known(
            "Simulated prediction markets with their outcomes",
            20261101,
            "9ee71c7acecd0f79d8ea3d1a48de174c89a9a4c8f055a6b17af78329860200d0",
            _markets,
            "1 where it resolved to YES, else 0",
            24 * 61,
        ),
        "sim-coin-questions": _Known(
            "Simulated questions about prices of coins, hours ahead",
            20261102,
            "f8933ad011506adea15362ee85bbcff83954427c3b0e4abafff7083040f82b6b",
            _prices(COINS),
            "move of the price, as a part of it",
            24,
        ),
        "sim-stock-questions": _Known(
            "Simulated questions about prices of stocks, days ahead",
            20261103,
            "b19f75669cf081098ea1d4ca45dca5c8512b71e0ceb8c9ac6330c8e306197eee",
            _prices(STOCKS),
            "move of the price, as a part of it",
            24 * 7,
        ),
        "sim-event-questions": _Known(
            "Simulated events with signals, without a market",
            20261104,
            "c79e4d90e032b89f9d42af246f50cae51f92890eb03be151782811d887cb6c44",
            _events,
            "1 where it happened, else 0",
            24 * 31,
        ),
    }
)
QUESTION_SETS: tuple[str, ...] = tuple(_SETS)
"""Names of the sets."""


def question_digest(name: str) -> str:
    """SHA-256 of a set as it is released, without making it.

    Raises:
        DataError: there is no such set.
    """
    return _known(name).sha256


def simulated_questions(name: str, branch: Branch | None = None) -> QuestionRows:
    """A set of simulated questions.

    Args:
        name: the name of one of :data:`QUESTION_SETS`.
        branch: the row from which on questions are drawn anew, and the seed; None for the set as it is released.

    Raises:
        DataError: there is no such set, or this machine's arithmetic makes another one.
    """
    known = _known(name)
    texts, names, features, targets, hours = known.draw(known.seed, branch)
    digest = paths_digest((features, targets))
    if branch is None:
        require_simulated(name, digest, known.sha256, "prices, returns and signals")
    asked = np.datetime64(FIRST, "ns").astype(np.int64) + known.wave_h * HOUR * (np.arange(ROWS) // WAVE)
    times = np.stack([asked, asked + HOUR // 2, asked + hours * HOUR], axis=1).astype("datetime64[ns]")
    for array in (times, features, targets):
        array.setflags(write=False)
    return QuestionRows(times, texts, features, names, targets, _info(name, known, times, names, digest))


def _known(name: str) -> _Known:
    if name not in _SETS:
        raise DataError(f"no questions {name!r}{suggestion(name, _SETS)}")
    return _SETS[name]


def _clustered(bits: Bits, steps: int) -> Floats:
    """GARCH(1, 1) returns of unit variance, float64[ROWS, steps], each row by itself."""
    shocks = students(bits, 5.0, ROWS, steps)
    variance, out = np.ones(ROWS), np.empty((ROWS, steps))
    for step in range(steps):
        out[:, step] = np.sqrt(variance) * shocks[:, step]
        # The coefficients add up to 1, which makes 1 the variance in the long run.
        variance = 0.04 + 0.14 * out[:, step] ** 2 + 0.82 * variance
    return out


def _sigmoid(x: Floats) -> Floats:
    out: Floats = 1.0 / (1.0 + np.exp(-x))
    return out


def _thousandths(x: Floats) -> Floats:
    # Whole numbers over 1000: the double nearest to the decimal, on every machine.
    out: Floats = np.rint(x * 1000.0) / 1000.0
    return out


def _ticks(probability: Floats) -> Floats:
    """Prices of a market whose smallest step is a tenth of a cent, off its ends."""
    return np.clip(_thousandths(probability), 0.01, 0.99)


def _info(name: str, known: _Known, times: NDArray[np.datetime64], names: tuple[str, ...], digest: str) -> DatasetInfo:
    first, last = times[[0, -1], 0].astype("datetime64[D]").tolist()
    return DatasetInfo(
        name=name,
        title=known.title,
        kind="simulated",
        source="seeded simulator of OpenFinGym (openfingym/data/questions.py); stands in for resolved questions",
        provenance=f"every parameter chosen by hand, not fitted; seed {known.seed}",
        licence="Apache-2.0",
        frequency="hourly",
        measure="mixed",
        unit=f"see units; the outcome: {known.unit}",
        calendar=f"{WAVE} questions at once, every {known.wave_h} hours, around the clock",
        corporate_actions="none: no symbol splits or pays",
        first=first,
        last=last,
        rows=ROWS,
        channels=names,
        missing=0,
        sha256=digest,
        units=("as named",) * len(names),
        notes=(
            "the digest is that of features, then outcomes, float64 in C order, little-endian",
            "questions are independent of each other: no outcome tells another",
        ),
    )
