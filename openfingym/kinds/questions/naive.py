"""The baseline of questions: as a program that an agent can run, and as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.questions.contract import COVERAGE, QuestionsContract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader

NAIVE = '''"""The baseline: the market's probability, or the share of training; no move of a price."""

import interface
import numpy as np

contract = interface.contract
known, outcomes = interface.load_train()
outside = (1.0 - (contract["coverage"] or 0.0)) / 2.0


def model(asked):
    if contract["form"] == "probability":
        return asked[:, 0] if contract["market_implied"] else np.full(len(asked), outcomes.mean())
    if contract["form"] == "value":
        return np.zeros(len(asked))
    quantiles = np.quantile(outcomes / np.sqrt(known[:, 1]), contract["levels"] or [outside, 1.0 - outside])
    return np.clip(np.sqrt(asked[:, 1:2]) * quantiles, contract["low"], contract["high"])


interface.predict_each(model)
'''


def naive_answers(contract: QuestionsContract, read: Reader, part: str) -> NDArray[np.float64]:
    """The baseline's answers to some questions, float64[n] or float64[n, numbers].

    Args:
        contract: the contract of the task.
        read: reads a public or a hidden array, given its name.
        part: which questions: ``train`` or ``test``.
    """
    inputs, outcomes = np.asarray(read(f"{part}_inputs")), np.asarray(read("train_targets"))
    if contract.form == "probability":
        return np.array(inputs[:, 0]) if contract.market_implied else np.full(len(inputs), outcomes.mean())
    if contract.form == "value":
        return np.zeros(len(inputs))
    levels = contract.levels or ((1.0 - COVERAGE) / 2.0, (1.0 + COVERAGE) / 2.0)
    # Column 1 is the number of bars ahead. The spread of a random walk grows with its root, so that moves over any
    # number of bars give quantiles of the move over one.
    moves = np.quantile(outcomes / np.sqrt(np.asarray(read("train_inputs"))[:, 1]), levels)
    answers: NDArray[np.float64] = np.clip(np.sqrt(inputs[:, 1:2]) * moves, contract.low, contract.high)
    return answers
