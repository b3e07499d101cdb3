"""The questions that a rollout is asked when it is created, in the place of the private ones of its package.

With a simulated clock they are new draws of the package's simulator, and the truths are known to the verifier; with the
real clock they are asked about a real market as it is now, and nobody knows their truths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.kinds.questions import COVERAGE, QuestionsContract, questions_contract
from openfingym.questions import Question, read_answer
from openfingym.questions.question import REAL_CLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array, Reader
    from openfingym.questions.provider import Provider, Truth
    from openfingym.task.contracts import Contract

CLOCKS = ("simulated", REAL_CLOCK)
RECORDED = "recorded"
"""Provider of truths that the verifier keeps to itself until their clock has come to them."""
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
ASKABLE = ("polymarket", "binance")
"""Markets that can be asked about on the real clock: providers, and venues of prices."""
FEWEST = 0.5
"""Share of the questions that must get a truth; with fewer the rollout is void."""


@dataclass(frozen=True)
class QuestionsOrder:
    """Which questions a rollout is to be asked.

    Raises:
        UsageError: there is no such clock.
    """

    clock: Literal["simulated", "real"] = "simulated"
    """Whose time counts: a clock of the rollout's own, which is moved once the answers are in, or the real one."""

    def __post_init__(self) -> None:
        if self.clock not in CLOCKS:
            raise UsageError(f"questions have a simulated clock or the real one; found {str(self.clock)[:40]!r}")

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Asked:
    """The questions of a rollout, in the order of its private rows."""

    questions: tuple[Question, ...]
    data: Mapping[str, Array]
    """Rows of the public arrays about them, by the arrays' names."""
    shown: NDArray[np.float64]
    """float64[n], the price that was shown of each, of whose parts its answer is made; 1 where answers are none."""
    truths: tuple[float, ...] = ()
    """One a question, with a simulated clock; none otherwise."""
    references: tuple[Mapping[str, Any] | None, ...] = ()
    """What the market showed, with a simulated clock."""


def clock_of(order: QuestionsOrder, rollout: str) -> str:
    """Name of the clock of a rollout's questions."""
    return REAL_CLOCK if order.clock == REAL_CLOCK else f"rollout/{rollout}"


def ask_simulated(contract: Contract, read: Reader, targets: Array, first: int, rollout: str, now_ns: int) -> Asked:
    """Questions that are drawn for a rollout.

    Args:
        contract: the contract of the task.
        read: reads a public array of the rollout's own tape.
        targets: the hidden outcomes of that tape.
        first: row of the first private question.
        rollout: id of the rollout.
        now_ns: where its clock stands.
    """
    own = questions_contract(contract)
    inputs, texts = (np.asarray(read(f"test_{name}"))[first:] for name in ("inputs", "texts"))
    times = np.asarray(read("test_times"))[first:].astype(np.int64)
    ends = now_ns + times[:, 2] - times[:, 0]
    deadline = min(now_ns + own.window_s * SECOND, int(ends.min()) - SECOND)
    priced = own.market_implied or own.form != "probability"
    shown = np.array(inputs[:, 0]) if priced and own.form != "probability" else np.ones(len(inputs))
    truths = tuple(map(float, shown * (1.0 + targets[first:]) if own.form != "probability" else targets[first:]))
    questions = tuple(
        _question(own, f"{rollout}/{row}", str(text), (now_ns, deadline, int(end)), RECORDED, {}, f"rollout/{rollout}")
        for row, (text, end) in enumerate(zip(texts, ends, strict=True))
    )
    name = "probability" if own.form == "probability" else "price"
    references = tuple(
        {name: float(price), "at_ns": now_ns, "source": "SIMULATED"} if priced else None for price in inputs[:, 0]
    )
    return Asked(questions, _data(inputs, questions), shown, truths, references)


def ask_real(
    contract: Contract, provider: Provider, names: Sequence[str], count: int, rollout: str, now_ns: int
) -> Asked:
    """Questions about a real market as it is now.

    Args:
        contract: the contract of the task.
        provider: who will know their truths.
        names: names of what is shown of a question, in order.
        count: number of questions.
        rollout: id of the rollout.
        now_ns: the time.

    Raises:
        UsageError: the task has no market that could be asked about.
        DataError: the market has not so many questions, or says what cannot be.
        VenueError: it cannot be asked.
    """
    own = questions_contract(contract)
    if own.provider == "polymarket":
        from openfingym.questions.open_markets import open_markets

        deadline = now_ns + own.window_s * SECOND
        found = open_markets(count, now_ns, deadline, now_ns + own.longest_s * SECOND)
        questions = tuple(
            _question(
                own,
                f"{rollout}/{row}",
                one.text,
                (now_ns, deadline, one.ends_ns),
                own.provider,
                {"market": one.market, "outcome": one.outcome},
                REAL_CLOCK,
                rules=one.rules,
            )
            for row, one in enumerate(found)
        )
        inputs = np.array([[one.known[name] for name in names] for one in found])
        return Asked(questions, _data(inputs, questions), np.ones(count))
    if own.venue in ASKABLE:
        return _ask_prices(own, provider, count, rollout, now_ns)
    raise UsageError("this task is about no market that can be asked; ask with a simulated clock, or in rounds")


def can_ask(contract: Contract) -> bool:
    """Whether there is a real market that a task can ask about when a rollout is created."""
    own = questions_contract(contract)
    return (own.venue or own.provider) in ASKABLE


def document_of(question: Question, numbers: NDArray[np.float64], shown: float) -> dict[str, object]:
    """The answer to a question, from its row of a submission.

    Args:
        question: the question.
        numbers: the row, float64[numbers].
        shown: the price of whose parts the row is made.
    """
    if question.form == "probability":
        return {"probability": float(numbers[0])}
    values = [float(shown * (1.0 + move)) for move in numbers]
    return {question.form: values[0] if question.form == "value" else values, "unit": question.unit}


def numbers_of(question: Question, document: object, shown: float) -> NDArray[np.float64]:
    """The row of a submission, from an answer that :func:`document_of` made."""
    values = np.array(read_answer(question, document).values)
    return values if question.form == "probability" else values / shown - 1.0


def target_of(question: Question, truth: Truth, shown: float) -> float:
    """What a metric compares with, from the truth of a question."""
    assert isinstance(truth, int | float), "questions of a rollout have one number as their truth"
    return float(truth) if question.form == "probability" else float(truth) / shown - 1.0


def _question(
    contract: QuestionsContract,
    name: str,
    text: str,
    moments: tuple[int, int, int],
    provider: str,
    query: Mapping[str, str | float],
    clock: str,
    rules: str = "",
) -> Question:
    numeric = contract.form != "probability"
    return Question(
        id=name,
        text=text[:4000],
        form=contract.form,
        generated_ns=moments[0],
        deadline_ns=moments[1],
        evaluation_ns=moments[2],
        provider=provider,
        query=query,
        levels=contract.levels or ((COVERAGE,) if contract.form == "interval" else ()),
        unit="USD" if numeric else "",
        measure="amount" if numeric else None,
        category=contract.venue or contract.provider,
        market=str(query.get("market", query.get("symbol", "simulated"))),
        rules=rules[:4000],
        clock=clock,
    )


def _data(inputs: Array, questions: Sequence[Question]) -> dict[str, Array]:
    times = [[one.generated_ns, one.deadline_ns, one.evaluation_ns] for one in questions]
    return {
        "test_inputs": np.ascontiguousarray(inputs, dtype=np.float64),
        "test_times": np.array(times).astype("datetime64[ns]"),
        "test_texts": np.array([f"{one.text}\n{one.rules}".strip() for one in questions]),
    }


def _ask_prices(contract: QuestionsContract, provider: Provider, count: int, rollout: str, now_ns: int) -> Asked:
    """Questions about the prices of the contract's symbols, so many bars ahead, with the returns of the bars before."""
    from openfingym.data.questions import SHOWN

    bar, deadline = contract.bar_s * SECOND, now_ns + contract.window_s * SECOND
    whole = now_ns // bar * bar
    known: dict[str, list[float]] = {}
    for symbol in contract.markets:
        query = {"venue": contract.venue, "symbol": symbol}

        def at(name: str, end: int, query: Mapping[str, str] = query) -> Question:
            moments = (end - 2, end - 1, end)
            return _question(contract, name, query["symbol"], moments, contract.provider, query, REAL_CLOCK)

        # The bar in whose last minute a bar of the task ends closes with it, and is complete by now.
        past = [at(f"{rollout}/{symbol}/{ago}", whole - ago * bar - MINUTE) for ago in range(SHOWN + 1)]
        said = provider.answers(past, now_ns)
        closes = np.array([_price(one, said[one.id]) for one in past])
        reference = provider.reference(past[0], now_ns)
        if reference is None:
            raise DataError(f"{contract.venue} shows no price of {symbol} now")
        known[symbol] = [float(reference["price"]), *np.log(closes[:-1] / closes[1:])]
    questions, rows = [], []
    for row in range(count):
        symbol = contract.markets[row % len(contract.markets)]
        ahead = contract.horizons[(row // len(contract.markets)) % len(contract.horizons)]
        price, *returns = known[symbol]
        text = f"{symbol} at {contract.venue}: how far will its price have moved in {ahead * contract.bar_s} s?"
        moments = (now_ns, deadline, now_ns + ahead * bar)
        query = {"venue": contract.venue, "symbol": symbol}
        questions.append(_question(contract, f"{rollout}/{row}", text, moments, contract.provider, query, REAL_CLOCK))
        rows.append([price, float(ahead), *returns])
    inputs = np.array(rows)
    return Asked(tuple(questions), _data(inputs, questions), inputs[:, 0])


def _price(question: Question, answer: object) -> float:
    if isinstance(answer, Exception):
        raise DataError(f"no price of {question.market} before the questions are asked: {answer}")
    truth = getattr(answer, "truth", None)
    if not isinstance(truth, int | float):
        raise DataError(
            f"no price of {question.market} before the questions are asked: {getattr(answer, 'reason', '')}"
        )
    return float(truth)
