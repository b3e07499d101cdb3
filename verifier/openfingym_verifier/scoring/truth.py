"""Tasks with their hidden data, which only the verifier loads, once at start."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openfingym.digests import sha256_of, sha256_of_json
from openfingym.errors import DataError, TaskError, UsageError, VerifierError
from openfingym.kinds import (
    SequentialKind,
    is_deferred,
    is_heavy,
    is_live,
    kind_named,
    score_fold,
    score_with_replicates,
)
from openfingym.kinds.question_range import asked_part
from openfingym.kinds.resampled import replicates, times_of_units
from openfingym.kinds.walk import Form, Walk, WalkEpisode
from openfingym.metrics import find_metric, relative
from openfingym.metrics.sampling_error import sampling_error
from openfingym.metrics.unit_calendar import UnitCalendar
from openfingym.packages.exposure import exposure_of_package
from openfingym.packages.tapes import draw, renewal
from openfingym.task.episodes import MAX_ACTION_BYTES
from openfingym.verifiers.routes import most_body_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from openfingym.kinds import Fold
    from openfingym.kinds.material import Array
    from openfingym.kinds.question_range import QuestionRange
    from openfingym.metrics import Score
    from openfingym.metrics.resampling import Resampling
    from openfingym.metrics.sampling_error import Replicates, SamplingError
    from openfingym.packages.package import BuiltPackage, PackageManifest
    from openfingym.packages.tapes import Tape
    from openfingym.results import SplitName
    from openfingym.results.result import TapeKind
    from openfingym.task import Spec
    from openfingym.task.episodes import SteppedEpisode
    from openfingym.task.exposure import Exposure

Action = Literal["public", "private", "baseline"]
"""What is computed of an array: a score of either fold, or of the baseline on the private one."""
MIN_PRICE = 1e-12
"""Prices must stay above this, or their returns leave the range of float64."""


@dataclass(frozen=True, eq=False)
class Grader:
    """What scoring needs of a task, and no more, since it is pickled for worker processes."""

    spec: Spec
    public: Fold
    private: Fold
    baseline: NDArray[np.float64]
    """The submission of the task's baseline, float64 of the task's submission shape."""

    @property
    def walks(self) -> bool:
        """Whether hidden items are shown in the order of time."""
        return kind_named(self.spec.contract).walks(self.spec.contract)

    def check(self, values: NDArray[np.float64]) -> None:
        """Refuse a submission for a fault that shape and range do not show.

        Raises:
            SubmissionError: the submission is refused; the message names the position or the reason.
        """
        kind_named(self.spec.contract).check(self.spec.contract, self.public, values)

    def check_fold(self, values: NDArray[np.float64], action: Action) -> None:
        """Check a whole submission before it is scored; see :meth:`check`.

        A submission is checked when it is accepted, and so before its public score. Of a walk each fold is checked
        before its own score, and by itself: the rest of the submission is not what was answered then.
        """
        if self.walks:
            self.check(values[self.public.rows if action == "public" else self.private.rows])
        elif action == "public":
            self.check(values)

    def public_score(self, values: NDArray[np.float64]) -> Score:
        """Score of a whole submission on the public fold."""
        return score_fold(self.spec.contract, self.spec.scoring, self.public, values)

    def private_score(self, values: NDArray[np.float64]) -> Score:
        """Score of a whole submission on the private fold, with its replicates."""
        return score_with_replicates(self.spec.contract, self.spec.scoring, self.private, values, self.design)

    def private_fold_score(self, values: NDArray[np.float64]) -> Score:
        """Score of a whole submission on the private fold, without replicates."""
        return score_fold(self.spec.contract, self.spec.scoring, self.private, values)

    def private_replicates(self, values: NDArray[np.float64], draws: slice) -> Replicates:
        """The metrics of a whole submission on some replicates of the private fold.

        Args:
            values: float64 of the task's submission shape; the private fold has a score for them.
            draws: which of the replicates of :attr:`design`, which is not None.
        """
        assert self.design is not None, "a fold without a design has no replicates"
        contract, scoring = self.spec.contract, self.spec.scoring
        design = replace(self.design, draws=self.design.draws[draws])
        return replicates(kind_named(contract), contract, scoring, self.private, values, design)

    @functools.cached_property
    def design(self) -> Resampling | None:
        """How the private fold is drawn again; the same for every submission, so that they can be compared replicate by
        replicate.
        """
        return kind_named(self.spec.contract).resampling(self.spec.contract, self.private)

    def __getstate__(self) -> dict[str, object]:
        """The fields without cached draws: a worker draws its own, which are the same."""
        # cached_property keeps its value in the instance's dictionary, which pickle would take along.
        return {own.name: getattr(self, own.name) for own in fields(self)}

    def baseline_score(self) -> Score:
        """Score of the baseline on the private fold."""
        return self.private_score(self.baseline)


@dataclass(frozen=True, eq=False)
class HiddenTask:
    """A task with its labels."""

    manifest: PackageManifest
    spec: Spec
    grader: Grader
    heavy: bool
    """Whether scoring takes long enough to need a process of its own."""
    scored_first: bool
    """Whether a submission that fits the contract may turn out not to have a score, and so is scored before it is
    accepted."""
    package: BuiltPackage
    contract_document: Mapping[str, Any]
    """``contract.json`` of the package, as it was when its digest was checked."""
    hidden: Mapping[str, Array]
    """The hidden arrays by name, read-only."""
    renewal: TapeKind
    """Which kind of tape another rollout of the task can have."""
    identity: str
    """Name of the task and the tape it is on: what is known of one is not known of another."""
    data: Mapping[str, Array] = field(default_factory=dict)
    """Public arrays of this tape that take the place of the package's."""
    held: Mapping[str, Array] = field(default_factory=dict)
    """Public arrays of the package that are kept in memory, since its files may go."""
    split: SplitName = "test"
    """``test`` for a task as it is; else this is an instance, cut from the training data of a task."""
    asked: QuestionRange | None = None
    """Which of its questions are asked and scored; None for all, and for a task without questions."""
    open_episode: Callable[[int], SteppedEpisode] | None = None
    """A fresh hidden episode by its number, those of the public fold first; None for a task answered in one array."""
    walk: Walk | None = None
    """The windows of a task that is walked through, whose episodes are one pass through each fold; None for others."""
    unit_times: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """When the units of the private fold begin and end, by public arrays (:func:`times_of_units`); None on a tape of a
    rollout's own, and where units have no times."""

    @property
    def name(self) -> str:
        """Short name, such as ``treasury-forecast``."""
        return self.manifest.name

    @functools.cached_property
    def exposure(self) -> Exposure | None:
        """What it shows and hides, whichever tape its rollouts have; None where that cannot be told."""
        return exposure_of_package(self.package, self.hidden)

    @functools.cached_property
    def given_exposure(self) -> Exposure | None:
        """What its given tape shows and hides; None where that cannot be told."""
        return exposure_of_package(self.package, self.hidden, given=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a submission."""
        return self.manifest.submission_shape

    @functools.cached_property
    def hidden_digest(self) -> str:
        """SHA-256 of the hidden arrays, which are the same in a package that is built again over them."""
        # Without a copy, since they may fill most of the memory.
        return sha256_of_json(
            {
                name: sha256_of(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
                for name, array in self.hidden.items()
            }
        )

    @property
    def tape_of_its_own(self) -> bool:
        """Whether this is the task on a tape that only one rollout has."""
        return self.identity != self.name and self.split == "test" and self.asked is None

    @property
    def sequential(self) -> bool:
        """Whether hidden data are shown step by step, in episodes or as a walk."""
        return self.open_episode is not None

    @property
    def slow_steps(self) -> bool:
        """Whether a step of an episode takes long enough to be taken off the event loop."""
        kind = kind_named(self.spec.contract)
        return isinstance(kind, SequentialKind) and kind.slow_steps

    @property
    def live(self) -> bool:
        """Whether its private episode can be a session on a live market."""
        return is_live(self.spec.contract)

    @property
    def deferred(self) -> bool:
        """Whether its private rows can be asked when a rollout is created."""
        return is_deferred(self.spec.contract)

    @property
    def budget(self) -> int:
        """Submissions that a rollout may have accepted, or private episodes it may play."""
        if self.asked is not None:
            return len(self.asked)
        return self.episodes[1] if self.sequential else self.spec.verification.budget

    @property
    def episodes(self) -> tuple[int, int]:
        """Episodes of the public and of the private fold, of a task that is stepped through."""
        return (1, 1) if self.walk is not None else (self.manifest.n_public, self.manifest.n_private)

    @property
    def cells(self) -> int:
        """Numbers in a submission."""
        return int(np.prod(self.shape))

    @property
    def max_body_bytes(self) -> int:
        """Largest body read, and largest array unpacked, for one submission or action."""
        return MAX_ACTION_BYTES if self.sequential else most_body_bytes(self.cells)

    @property
    def low(self) -> float:
        """Smallest admissible prediction; positive where returns are taken of prices."""
        contract = self.spec.contract
        # Metrics with this option take returns of prices, which at zero are infinite.
        takes_returns = any("semantics" in find_metric(metric.name).options for metric in self.spec.scoring.metrics)
        prices = getattr(contract, "value_semantics", None) == "price_level" and takes_returns
        return max(contract.low, MIN_PRICE) if prices else contract.low

    def on(self, tape: Tape, identity: str) -> HiddenTask:
        """A copy of this task on another tape.

        Args:
            tape: the tape that is wanted, with its secret seed.
            identity: name of the copy among tasks on tapes, such as ``treasury-forecast/r0123``.

        Raises:
            VerifierError: the tape cannot be drawn, or cannot be scored.
        """
        if tape.kind == "given":
            return self
        try:
            drawn = draw(self.package, tape, self.hidden)
            return load_task(self.package, drawn.hidden, drawn.public, identity)
        except (DataError, TaskError, UsageError) as error:
            raise VerifierError(f"{self.name}: no {tape.kind} tape can be drawn: {error}") from error

    def asking(self, asked: QuestionRange) -> HiddenTask:
        """A copy of this task that asks, and scores, some of its questions alone.

        Raises:
            UsageError: the task does not have these questions.
        """
        asked.require(self.spec.contract, self.name, self.manifest.n_private)
        private = asked_part(self.spec.contract, self.grader.private, asked, self.shape[1:])
        grader = replace(self.grader, private=private)
        return replace(self, grader=grader, identity=f"{self.identity}/questions/{asked}", asked=asked)

    def relative_total(self, score: Score, baseline: Score) -> float:
        """A private score relative to the baseline's; lower is better, 1 is the baseline."""
        return relative(self.spec.scoring, score.metrics, baseline.metrics)

    def sampling_error(self, score: Score, baseline: Score) -> SamplingError:
        """How much of a private score is chance, beside the baseline's private score; both with their replicates."""
        return sampling_error(self.spec.scoring, score, baseline, self._calendar(score))

    def _calendar(self, score: Score) -> UnitCalendar | None:
        """When the units of a private score were; None where they have no times."""
        times, design, drawn = self.unit_times, self.grader.design, score.replicates
        # Where some rows are scored alone, there are other units than in the private fold.
        if times is None or design is None or design.seed is None or drawn is None or drawn.units != len(times[0]):
            return None
        return UnitCalendar(*times, design.seed, design.block)


def load_tasks(packages: Sequence[BuiltPackage]) -> dict[str, HiddenTask]:
    """Read the truth of every package into memory; no file stays open.

    Returns:
        The tasks on their given tapes, by name.

    Raises:
        DigestMismatchError: a package is not what it was when it was built.
        StoreError: a package cannot be read.
        TaskError: two packages have one name.
        VerifierError: the baseline of a package cannot be an answer.
    """
    tasks: dict[str, HiddenTask] = {}
    for package in packages:
        task = load_task(package)
        if task.name in tasks:
            raise TaskError(f"two packages are named {task.name!r}; a verifier serves one of each")
        tasks[task.name] = task
    return tasks


def load_task(
    package: BuiltPackage,
    hidden: Mapping[str, Array] | None = None,
    data: Mapping[str, Array] | None = None,
    identity: str | None = None,
    spec: Spec | None = None,
    *,
    held: Mapping[str, Array] | None = None,
    split: SplitName = "test",
) -> HiddenTask:
    """Read the truth of one package; see :func:`load_tasks`.

    Args:
        package: the built package of the task.
        hidden: hidden arrays to use instead of the package's; None reads the package's truth half.
        data: public arrays, by name, that replace the package's.
        identity: name of the task on this tape, for messages and workers; None for the task's own name.
        spec: specification to score by instead of the package's, for a session of other terms.
        held: public arrays of the package by name, for what is read once the package's files are gone.
        split: ``test`` for the package of a task as it is; another split for the package of an instance.
    """
    hidden, data, held = package.read_truth() if hidden is None else hidden, data or {}, held or {}
    manifest, spec = package.manifest, spec or package.task.spec
    kind = kind_named(spec.contract)
    # What metrics draw at random follows from the labels, so that the same submission always has the same score.
    seed = int.from_bytes(hashlib.sha256(manifest.truth_digest.encode()).digest()[:4])
    walks, counts = kind.walks(spec.contract), (manifest.n_public, manifest.n_private)
    # What is stepped or walked through shows hidden arrays, to which the baseline answers as agents do.
    shown = hidden if walks or isinstance(kind, SequentialKind) else {}
    read = _reader(package, {**held, **data, **shown})
    # An episode reads again and again.
    read = _kept(read) if isinstance(kind, SequentialKind) else read
    walk = Walk.of(kind.due(spec.contract, read), counts) if walks else None
    public, private = kind.folds(spec, read, hidden, counts, seed)
    # Threads share them, and a metric that wrote into one would change every later score.
    for array in hidden.values():
        array.setflags(write=False)
    baseline = kind.naive(spec.contract, read, manifest.submission_shape)
    metrics = [find_metric(metric.name) for metric in spec.scoring.metrics]
    heavy = is_heavy(spec)
    # Errors and risk gaps of a forecast in range always have a value; of other metrics nobody can say.
    always_scores = kind.always_scores and all(metric.shared is not None for metric in metrics)
    task = HiddenTask(
        manifest,
        spec,
        Grader(spec, public, private, baseline),
        heavy,
        # A heavy one too, though it has a score: whatever ends a worker process must not cost the agent a submission.
        scored_first=heavy or not always_scores,
        package=package,
        contract_document=package.contract,
        hidden=hidden,
        renewal=renewal(package) if split == "test" else "given",
        identity=identity or manifest.name,
        data=data,
        held=held,
        split=split,
        open_episode=functools.partial(kind.episode, spec, read, hidden) if isinstance(kind, SequentialKind) else None,
        walk=walk,
        # What is on a tape or an instance of its own is compared with nothing, and reading it may come too late.
        unit_times=times_of_units(kind, spec.contract, read, private, manifest.submission_shape[0])
        if identity is None
        else None,
    )
    return task if walk is None else replace(task, open_episode=functools.partial(_walked, task))


def _walked(task: HiddenTask, number: int) -> WalkEpisode:
    """A pass through the windows of the public fold, number 0, or of the private one, number 1."""
    assert task.walk is not None
    form = Form(task.shape, task.manifest.submission_axes, task.low, task.spec.contract.high, task.grader.check)
    return WalkEpisode(task.walk, form, task.hidden, "private" if number else "public")


def _reader(package: BuiltPackage, own: Mapping[str, Array]) -> Callable[[str], Array]:
    """A reader of the package's public arrays, some of which are replaced."""
    return lambda name: own[name] if name in own else package.array(name)


def _kept(read: Callable[[str], Array]) -> Callable[[str], Array]:
    """A reader that keeps arrays in memory, so that no file stays open."""

    @functools.cache
    def kept(name: str) -> Array:
        stored = read(name)
        if not isinstance(stored, np.memmap):
            return stored
        array: Array = np.array(stored)
        array.setflags(write=False)
        return array

    return kept
