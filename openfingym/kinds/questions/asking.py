"""The questions that a rollout is asked when it is created, in place of the private ones of its package.

With a simulated clock they are new draws of the package's simulator, whose truths the verifier knows; with the real
clock they are about a real market as it is now (:mod:`openfingym.kinds.questions.asking_real`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from openfingym.errors import UsageError
from openfingym.kinds.questions.contract import COVERAGE, QuestionsContract, questions_contract
from openfingym.questions import Question
from openfingym.questions.answer import read_answer
from openfingym.questions.provider import RECORDED
from openfingym.questions.question import LONGEST_TEXT, REAL_CLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array
    from openfingym.questions.provider import Truth
    from openfingym.task.contracts import Contract

Clock = Literal["simulated", "real"]
"""The clock by which deadlines and resolutions of a rollout's questions are told."""
CLOCKS: tuple[Clock, ...] = get_args(Clock)
SECOND = 1_000_000_000
"""A second in nanoseconds."""
MOST_NAMED = 1000
"""Most questions that an order may name."""
FEWEST = 0.5
"""Share of the questions that must get a truth; if fewer do, the rollout is void."""


@dataclass(frozen=True)
class QuestionsOrder:
    """Which questions a rollout is to be asked.

    Raises:
        UsageError: the clock is unknown, questions are named for a simulated clock, or too many or some twice.
    """

    clock: Clock = "simulated"
    """The clock of the questions: the real one, or one of the rollout's own, which moves on once the answers are in."""
    names: tuple[str, ...] = ()
    """Ids of questions of the ledger to ask, for a task without a market of its own; empty for those of its form that
    are open."""

    def __post_init__(self) -> None:
        # A list, as JSON has it, becomes a tuple; a frozen dataclass can be changed in this way only.
        object.__setattr__(self, "names", tuple(self.names))
        if self.clock not in CLOCKS:
            raise UsageError(f"questions have a simulated clock or the real one; found {str(self.clock)[:40]!r}")
        if self.names and self.clock != REAL_CLOCK:
            raise UsageError("questions are named for the real clock; a simulated one has made-up ones")
        if len(self.names) > MOST_NAMED or len(set(self.names)) < len(self.names):
            raise UsageError(f"{len(self.names)} questions are named; expected at most {MOST_NAMED}, each once")

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON; without names, if there are none."""
        return {"clock": self.clock, **({"names": list(self.names)} if self.names else {})}


@dataclass(frozen=True, eq=False)
class RolloutQuestions:
    """The questions of a rollout, in the order of its private rows."""

    questions: tuple[Question, ...]
    """The questions, as a ledger holds them."""
    data: Mapping[str, Array]
    """Rows of the arrays about these questions that windows show, by the arrays' names."""
    shown: NDArray[np.float64]
    """The price that was shown of each question, float64[n]. An answer about a price is the move relative to it; 1 for
    other answers."""
    truths: tuple[float, ...] = ()
    """The truth of each question, with a simulated clock; empty with the real one."""
    references: tuple[Mapping[str, Any] | None, ...] = ()
    """What the market showed of each question, with a simulated clock; None for a question without a market."""


def clock_of(order: QuestionsOrder, rollout: str) -> str:
    """Name of the clock of a rollout's questions.

    Args:
        order: which questions the rollout is asked.
        rollout: id of the rollout.
    """
    return REAL_CLOCK if order.clock == REAL_CLOCK else f"rollout/{rollout}"


def ask_simulated(
    contract: Contract, hidden: Mapping[str, Array], first: int, rollout: str, now_ns: int
) -> RolloutQuestions:
    """Questions that are drawn for a rollout.

    Args:
        contract: the contract of the task.
        hidden: the hidden arrays of the rollout's own tape, by name.
        first: row of the first private question.
        rollout: id of the rollout.
        now_ns: time of the rollout's clock, in nanoseconds since the epoch.
    """
    own = questions_contract(contract)
    inputs, texts, targets = (hidden[name][first:] for name in ("test_inputs", "test_texts", "targets"))
    times = hidden["test_times"][first:].astype(np.int64)
    # All are asked now, and each takes as long as in the simulation. One deadline for all, before any is resolved.
    ends = now_ns + times[:, 2] - times[:, 0]
    deadline = min(now_ns + own.window_s * SECOND, int(ends.min()) - SECOND)
    clock = f"rollout/{rollout}"
    about_prices = own.form != "probability"
    shown = np.array(inputs[:, 0]) if about_prices else np.ones(len(inputs))
    # Targets are moves relative to the price shown; a truth is a price.
    truths = tuple(map(float, shown * (1.0 + targets) if about_prices else targets))
    questions = tuple(
        question_for(own, f"{rollout}/{row}", str(text), (now_ns, deadline, int(end)), RECORDED, {}, clock)
        for row, (text, end) in enumerate(zip(texts, ends, strict=True))
    )
    name = "price" if about_prices else "probability"
    references = tuple(
        {name: float(price), "at_ns": now_ns, "source": "SIMULATED"} if own.market_implied or about_prices else None
        for price in inputs[:, 0]
    )
    return RolloutQuestions(questions, data_of(inputs, questions, now_ns), shown, truths, references)


def document_of(question: Question, numbers: NDArray[np.float64], shown: float) -> dict[str, object]:
    """The answer to a question as a document, from its row of a submission.

    Args:
        question: the question that is answered.
        numbers: the question's row of the submission, float64[numbers].
        shown: the price that was shown of the question, to which moves are relative.
    """
    if question.form == "probability":
        return {"probability": float(numbers[0])}
    values = [float(shown * (1.0 + move)) for move in numbers]
    return {question.form: values[0] if question.form == "value" else values, "unit": question.unit}


def numbers_of(question: Question, document: object, shown: float) -> NDArray[np.float64]:
    """The question's row of a submission, from an answer as :func:`document_of` makes it; float64[numbers]."""
    values = np.array(read_answer(question, document).values)
    return values if question.form == "probability" else values / shown - 1.0


def target_of(question: Question, truth: Truth, shown: float) -> float:
    """The target that a metric compares an answer with, from the truth of a question; see :func:`numbers_of`."""
    assert isinstance(truth, int | float), "questions of a rollout have one number as their truth"
    return float(truth) if question.form == "probability" else float(truth) / shown - 1.0


def question_for(
    contract: QuestionsContract,
    name: str,
    text: str,
    moments: tuple[int, int, int],
    provider: str,
    query: Mapping[str, str | float],
    clock: str,
    rules: str = "",
    unit: str = "USD",
) -> Question:
    """A question of a task's form.

    Args:
        contract: the contract of the task.
        name: id of the question.
        text: text of the question, as it is asked.
        moments: when the question is made, its deadline, and from when on it is resolved, in nanoseconds since the
            epoch.
        provider: name of the provider that knows its truth.
        query: what the provider is asked.
        clock: name of the clock by which deadline and resolution are told.
        rules: how the question is resolved, in words.
        unit: unit of the answer, if it is a number.
    """
    numeric = contract.form != "probability"
    return Question(
        id=name,
        # Some markets write longer texts than a question may have.
        text=text[:LONGEST_TEXT],
        form=contract.form,
        generated_ns=moments[0],
        deadline_ns=moments[1],
        evaluation_ns=moments[2],
        provider=provider,
        query=query,
        levels=contract.levels or ((COVERAGE,) if contract.form == "interval" else ()),
        unit=unit if numeric else "",
        measure="amount" if numeric else None,
        category=contract.venue or contract.provider,
        market=str(query.get("market", query.get("symbol", "simulated"))),
        rules=rules[:LONGEST_TEXT],
        clock=clock,
    )


def data_of(inputs: Array, questions: Sequence[Question], now_ns: int) -> dict[str, Array]:
    """Rows of the arrays about questions that windows show, by the arrays' names.

    All are asked as of now, whenever they were made: so they are one window, and none shows what came of another.

    Args:
        inputs: the features of each question, float64[n, features].
        questions: the questions, n of them.
        now_ns: when the rollout is asked them, in nanoseconds since the epoch.
    """
    times = [[now_ns, question.deadline_ns, question.evaluation_ns] for question in questions]
    return {
        "test_inputs": np.ascontiguousarray(inputs, dtype=np.float64),
        "test_times": np.array(times).astype("datetime64[ns]"),
        "test_texts": np.array([f"{question.text}\n{question.rules}".strip() for question in questions]),
    }
