"""The kind ``questions``: forecast outcomes by a probability, a number, quantiles or an interval.

The package holds simulated questions with their outcomes: an agent trains on some, practises on others, and is scored
on the last ones. Hidden questions are shown in the order in which they are asked, those of one time together. In place
of the last ones, a rollout may have questions that are asked when it is created and have no outcome yet
(:mod:`openfingym.kinds.questions.asking`); then its result is deferred until they are resolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.questions import question_digest, simulated_questions
from openfingym.errors import SubmissionError, TaskError
from openfingym.kinds.kind import Kind
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.questions.contract import COVERAGE, QuestionsContract, questions_contract
from openfingym.kinds.questions.naive import NAIVE, naive_answers
from openfingym.kinds.questions.skillless import skillless
from openfingym.kinds.questions.text import brief, recipe
from openfingym.kinds.start import Start
from openfingym.kinds.walk import hidden_until_due

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.questions import QuestionRows
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.contracts import Contract

START = Start(
    data="the bundled questions 'sim-prediction-markets'",
    description="Forecast how simulated prediction markets resolve.",
    asks="Say how probable it is that each market resolves to YES.",
    asset_class="synthetic",
    frequency="none",
    panel="60 simulated prediction markets",
    dataset="sim-prediction-markets",
    split=(0.8, 0.16, 0.04, 1),
    contract="""form = "probability"         # probability | value | quantiles | interval
market_implied = false
provider = "manual"
unit = "probability"
low = 0.0
high = 1.0
""",
    metrics=(("mse", 1.0),),
)


class QuestionsKind(Kind):
    """Questions whose outcomes are to be forecast."""

    contract = QuestionsContract
    start = START
    load_train = ("train_inputs", "train_targets")
    takes_pulled = False
    interface = "interface_questions.py"
    environment = "openfingym.envs.walk:WalkEnv"
    deferred = True
    naive_program = NAIVE

    def data_kind(self, task: Task) -> DataKind:
        """``simulated``, as every bundled set of questions is."""
        return "simulated"

    def source_key(self, task: Task) -> str:
        """The digest of the set of questions."""
        return question_digest(_name_of(task))

    def load(self, task: Task) -> QuestionRows:
        """The simulated questions."""
        return simulated_questions(_name_of(task))

    def renewable(self, task: Task) -> bool:
        """True, since every set of questions is simulated."""
        return True

    def renewed(self, task: Task, seed: int) -> QuestionRows:
        """The set of questions with all but the training ones drawn anew."""
        from openfingym.data.processes.draws import Branch

        name = _name_of(task)
        return simulated_questions(name, Branch(seed, len(simulated_questions(name).targets) - _cuts(task)[0].stop))

    def shape(self, task: Task, source: QuestionRows) -> Material:
        """Divide the questions into three blocks, in the order in which they were asked."""
        contract = questions_contract(task.spec.contract)
        if contract.market_implied and "price" not in source.names:
            raise TaskError(
                f"{source.info.name} shows no price; remove market_implied", path=task.config_path, key="contract"
            )
        train, public, private = _cuts(task)
        hidden = np.r_[public, private]
        arrays, axes = question_arrays(source, {"train": np.r_[train], "test": hidden})
        numbers = contract.numbers
        n_public, n_private = public.stop - public.start, private.stop - private.start
        material = Material(
            info=source.info,
            dataset_digest=source.info.sha256,
            public=arrays,
            axes=axes,
            hidden={"targets": source.targets[hidden]},
            n_train=train.stop,
            n_public=n_public,
            n_private=n_private,
            shape=(len(hidden), len(numbers)) if len(numbers) > 1 else (len(hidden),),
            submission_axes=("question", "number") if len(numbers) > 1 else ("question",),
            labels=numbers,
            recipe=recipe(task, source),
            facts={
                "lookback": 1,
                "horizon": 1,
                "channels": list(source.names),
                "form": contract.form,
                "levels": list(contract.levels),
                "coverage": COVERAGE if contract.form == "interval" else None,
                "market_implied": contract.market_implied,
                "moments": ["asked", "deadline", "resolves"],
            },
        )
        return hidden_until_due(material)

    def walks(self, contract: Contract) -> bool:
        """Every question is asked at a time."""
        return True

    def due(self, contract: Contract, read: Reader) -> Array:
        """The time at which each question is asked. What is known then may show what came of questions that were asked
        before, and nothing of those that are asked at the same time; by deadlines or by resolutions, a question could
        be shown after a later one.
        """
        return np.asarray(read("test_times"))[:, 0]

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on questions that are drawn anew; see :mod:`openfingym.kinds.row_instances`."""
        from openfingym.kinds.row_instances import questions_instance

        contract = questions_contract(data.task.spec.contract)
        return questions_instance(data, contract, _name_of(data.task), split, generator)

    def scramble(self, task: Task, source: QuestionRows, generator: np.random.Generator) -> QuestionRows:
        """The same questions, with every hidden outcome replaced by that of a random training question."""
        targets = source.targets.copy()
        train, public, private = _cuts(task)
        hidden = np.r_[public, private]
        targets[hidden] = generator.choice(source.targets[train], len(hidden))
        return replace(source, targets=targets)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The market's own probability or the share of training outcomes; for prices, no move."""
        return naive_answers(questions_contract(contract), read, "test").reshape(shape)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Departures from the baseline that take no account of the questions."""
        own = questions_contract(contract)
        return skillless(own, read, naive_answers(own, read, "train"), naive_answers(own, read, "test"), generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The outcome, as every number of an answer."""
        targets = np.asarray(hidden["targets"], dtype=np.float64)
        return np.array(np.broadcast_to(targets.reshape(-1, *[1] * (len(shape) - 1)), shape))

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Uniform noise over the admissible range, sorted within an answer, since its quantiles may not cross."""
        noise = super().worst(contract, hidden, shape)
        return np.sort(noise, axis=-1) if len(shape) > 1 else noise

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The earlier questions are the public fold, the later ones the private one."""
        from openfingym.metrics import Truth

        contract, targets = questions_contract(spec.contract), np.asarray(hidden["targets"], dtype=np.float64)

        def fold(rows: slice) -> Fold:
            arrays: dict[str, Any] = {"y_true": np.ascontiguousarray(targets[rows])}
            if contract.levels:
                arrays["levels"] = np.array(contract.levels)
            return Fold(rows, Truth(arrays, {}, seed))

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def check(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
        """Refuse quantiles that cross, and intervals whose ends are in the wrong order.

        Raises:
            SubmissionError: the numbers of an answer decrease; the message names the question.
        """
        if values.ndim == 1:
            return
        crossed = np.diff(values, axis=1) < 0.0
        if crossed.any():
            row, number = (int(i) for i in np.argwhere(crossed)[0])
            names = questions_contract(contract).numbers
            raise SubmissionError(
                f"question {row}: {names[number]} is above {names[number + 1]} ({values[row, number]:g} > "
                f"{values[row, number + 1]:g}); expected numbers that do not decrease",
                problem="out-of-range",
            )

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The answers, by the names that metrics of their form use."""
        own = questions_contract(contract)
        if own.form == "interval":
            return {"lower": values[:, 0], "upper": values[:, 1]}
        if own.form == "quantiles":
            return {"quantiles": values, **({"y_pred": values[:, own.levels.index(0.5)]} if 0.5 in own.levels else {})}
        return {"y_pred": values}

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """A bootstrap of blocks of consecutive questions, since those asked at one time share its news."""
        from openfingym.metrics.resampling import block_bootstrap

        return block_bootstrap(len(np.asarray(fold.truth.arrays["y_true"])), fold.truth.seed, units_are_rows=True)

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold and the submission restricted to the drawn questions."""
        from openfingym.kinds.resampled import taken

        # The levels of quantiles have no row for each question, and stay as they are.
        arrays = dict(fold.truth.arrays)
        levels = {"levels": np.asarray(arrays.pop("levels"))} if "levels" in arrays else {}
        return taken(replace(fold, truth=replace(fold.truth, arrays=arrays)), values, units, **levels)

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """One outcome for each question."""
        return {"targets": (n_test,)}

    def target_times(self, contract: Contract, read: Reader) -> NDArray[np.datetime64]:
        """The time from which each question can be resolved."""
        return np.asarray(read("test_times"))[:, 2]

    def known_targets(self, contract: Contract, read: Reader) -> Array:
        """The outcomes of training, once for each number of an answer."""
        numbers = questions_contract(contract).numbers
        return np.repeat(np.asarray(read("train_targets"))[:, None], len(numbers), axis=1)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs for the form of answers."""
        contract = questions_contract(spec.contract)
        if contract.form == "probability":
            return frozenset({"logistic", *(["market-implied"] if contract.market_implied else [])})
        return frozenset({"ewma"} if contract.form in {"quantiles", "interval"} else ())

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task; see :mod:`openfingym.kinds.questions.text`."""
        return brief(task, material)


def question_arrays(
    source: QuestionRows, rows: Mapping[str, NDArray[np.int64]]
) -> tuple[dict[str, Array], dict[str, tuple[str, ...]]]:
    """The arrays of questions by name, and the meaning of their axes.

    Args:
        source: the questions with their outcomes.
        rows: positions of the questions to learn from (``train``) and of those to answer (``test``).
    """
    arrays: dict[str, Array] = {"train_targets": source.targets[rows["train"]]}
    axes: dict[str, tuple[str, ...]] = {"train_targets": ("question",)}
    for part, chosen in rows.items():
        arrays |= {
            f"{part}_inputs": source.features[chosen],
            f"{part}_times": source.times[chosen],
            f"{part}_texts": np.array([source.texts[row] for row in chosen]),
        }
        axes |= {
            f"{part}_inputs": ("question", "feature"),
            f"{part}_times": ("question", "moment"),
            f"{part}_texts": ("question",),
        }
    return arrays, axes


def _cuts(task: Task) -> tuple[slice, slice, slice]:
    """Rows of the training, the public and the private block, without the embargoes between them.

    Raises:
        TaskError: a block has fewer than two questions.
    """
    from openfingym.data.questions import ROWS
    from openfingym.data.recipe import train_share

    split = task.spec.rows
    train, public, _ = split.shares
    first = train_share(train, ROWS)
    second = first + train_share(public, ROWS)
    blocks = slice(0, first), slice(first + split.embargo, second), slice(second + split.embargo, ROWS)
    if any(block.stop - block.start < 2 for block in blocks):
        raise TaskError(f"{ROWS} questions leave a block with fewer than two", path=task.config_path, key="split")
    return blocks


def _name_of(task: Task) -> str:
    """Name of the bundled set of questions; refuses other data."""
    if task.spec.dataset.name is None:
        raise TaskError(
            "questions are of a bundled set; expected dataset.name", path=task.config_path, key="dataset.name"
        )
    if task.real:
        from openfingym.kinds.real_forms import required_form

        # Raises, with the reason: there are no real questions with known outcomes to build a package of.
        required_form(task)
    return task.spec.dataset.name


KIND = QuestionsKind()
