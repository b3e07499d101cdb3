"""Runs of a task through gate and verifier: a program that submits nothing, the oracle, and baselines beside noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.adversarial.promise import SEED, reader_of
from openfingym.agents import resolve
from openfingym.agents.builtin import fitting
from openfingym.errors import SubmissionError
from openfingym.kinds import kind_of, score_with_replicates
from openfingym.metrics import relative
from openfingym.metrics.sampling_error import sampling_error
from openfingym.rollouts.launcher import Launcher
from openfingym_forge.stage import RejectionReason

if TYPE_CHECKING:
    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult

WANTED = 2
"""How many baselines must be better than noise: else the task does not tell skill from luck."""
MOST = 5
"""Most baselines that are tried."""
DRAWN = ("gaussian", "random")
"""Baselines of the relative total that are drawn at random, and so are noise themselves."""
NOISE = ("noise of training volatility", "random weights at each step", "random past", "random past level")
"""Names of the answers without skill that are noise, the one to take first."""
FIRST = ("mean", "ridge", "rolling-ridge", "bootstrap", "copula", "degree", "graph-smooth", "equal-weight", "cash")
"""Baselines that are tried first: quick, and good at most tasks of their kind."""

Interval = tuple[float, float]
"""Lower and upper end."""


@dataclass(frozen=True)
class Trials:
    """What came of the runs."""

    reasons: tuple[RejectionReason, ...]
    """Why the task is refused or failed; empty where it is proved."""
    scores: Mapping[str, float]
    """Relative total of each agent; lower is better, and 1 is the baseline."""
    better: tuple[str, ...]
    """Baselines that are better than noise."""
    certain: tuple[str, ...]
    """Those of them whose whole 95 % interval is better than that of noise."""
    noise: float | None
    """Relative total of noise; None where the task refuses noise."""
    intervals: Mapping[str, Interval]
    """95 % interval of the relative total of each agent that has one, and of ``noise``."""
    seconds: float
    """Wall time of all programs together."""

    def to_dict(self) -> dict[str, object]:
        """The trials as plain values, for the facts of the stage."""
        return {
            "relative_totals": dict(self.scores),
            "noise": self.noise,
            "better_than_noise": list(self.better),
            "beyond_the_interval": list(self.certain),
            "intervals": {name: list(interval) for name, interval in self.intervals.items()},
            "seconds": round(self.seconds, 2),
        }


def trials(package: BuiltPackage, hidden: Mapping[str, Array], backend: str) -> Trials:
    """Run programs on a task, all with one verifier, until enough baselines are better than noise.

    Args:
        package: the built package of the task.
        hidden: the package's hidden arrays, by name.
        backend: how the programs are isolated, which are the library's own.

    Raises:
        BackendUnavailableError: no such backend works here.
    """
    noise, ends = noise_of(package, hidden)
    # A kind that has a single baseline beside noise cannot have two.
    wanted = min(WANTED, len(fitting(package.task)) - (package.task.spec.scoring.baseline in DRAWN))
    results: dict[str, RolloutResult] = {}
    with Launcher([package], backend=backend) as launcher:
        for name in ("naive", "nop", "oracle"):
            results[name] = launcher.run(package, resolve(name))
        for name in _order(package):
            better, certain = _compared(package, results, noise, ends)
            enough = len(better) >= wanted and (certain or kind_of(package.task).is_record)
            # Where not even the naive agent is scored, the task is refused for that.
            if enough or results["naive"].state != "scored":
                break
            results[name] = launcher.run(package, resolve(name))
        better, certain = _compared(package, results, noise, ends)
    scores = {name: result.relative_total for name, result in results.items() if result.relative_total is not None}
    reasons = [*_smoke(results), *_best(scores)]
    # The few episodes of an account tell nothing for certain: there it is enough to be better.
    if not reasons and (len(better) < wanted or not (certain or kind_of(package.task).is_record)):
        totals = ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
        count = f"{len(better)} baselines are better than noise, {len(certain)} of them beyond the interval"
        needed = f"{wanted} are needed, one of them beyond it"
        reasons.append(
            RejectionReason("no-baseline-better", f"{count}; {needed}; relative totals: noise {noise}, {totals}")
        )
    seconds = sum(result.wall_s for result in results.values())
    return Trials(
        tuple(reasons), scores, tuple(better), tuple(certain), noise, _intervals(results, noise, ends), seconds
    )


def _intervals(results: Mapping[str, RolloutResult], noise: float | None, ends: Interval) -> dict[str, Interval]:
    """The finite intervals by agent; the baseline has none, since all totals are relative to it."""
    intervals = {name: result.relative_interval for name, result in results.items() if name != "naive"}
    if noise is not None and ends[0] < ends[1]:
        intervals["noise"] = ends
    return {name: each for name, each in intervals.items() if each is not None and np.isfinite(each).all()}


def _compared(
    package: BuiltPackage, results: Mapping[str, RolloutResult], noise: float | None, ends: Interval
) -> tuple[list[str], list[str]]:
    """Names of the baselines that are better than noise, and of those that are so for certain."""
    drawn = package.task.spec.scoring.baseline in DRAWN
    better, certain = [], []
    for name, result in results.items():
        if name in ("oracle", "nop") or (name == "naive" and drawn) or result.relative_total is None:
            continue
        if noise is None or result.relative_total < noise:
            better.append(name)
            if _below(result, ends):
                certain.append(name)
    return better, certain


def noise_of(package: BuiltPackage, hidden: Mapping[str, Array]) -> tuple[float | None, Interval]:
    """How noise is scored.

    Args:
        package: the built package of the task.
        hidden: the package's hidden arrays, by name.

    Returns:
        The relative total of noise, which is 1 if the baseline itself is drawn at random and None if the task refuses
        noise; and its 95 % interval.
    """
    manifest, spec = package.manifest, package.task.spec
    if spec.scoring.baseline in DRAWN:
        return 1.0, (1.0, 1.0)
    kind, contract, shape = kind_of(package.task), spec.contract, manifest.submission_shape
    read = reader_of(package, hidden)
    public, private = kind.folds(spec, read, hidden, (manifest.n_public, manifest.n_private), 0)
    answers = kind.skillless(contract, read, shape, np.random.default_rng(SEED))
    answer = next(answers[name] for name in (*NOISE, *answers) if name in answers)
    design = kind.resampling(contract, private)
    try:
        # As the verifier does with a submission.
        kind.check(contract, public, answer)
        scored, base = (
            score_with_replicates(contract, spec.scoring, private, values, design)
            for values in (answer, kind.naive(contract, read, shape))
        )
    except SubmissionError:
        # Noise that is refused is worse than any answer.
        return None, (float("inf"), float("inf"))
    # Without an interval, noise may be anywhere: nothing is better for certain.
    interval = sampling_error(spec.scoring, scored, base).relative_interval
    return relative(spec.scoring, scored.metrics, base.metrics), interval or (0.0, float("inf"))


def _order(package: BuiltPackage) -> list[str]:
    """Names of the baselines that are tried, in order."""
    fits = [name for name in fitting(package.task) if name != "naive"]
    ordered = [name for name in FIRST if name in fits] + [name for name in fits if name not in FIRST]
    return ordered[:MOST]


def _below(result: RolloutResult, noise: Interval) -> bool:
    """Whether the whole interval of a result lies below that of noise. The baseline's is 1 exactly."""
    if result.state != "scored" or result.relative_total is None:
        return False
    interval = (1.0, 1.0) if result.agent == "naive" else result.relative_interval
    return interval is not None and interval[1] < noise[0]


def _smoke(results: Mapping[str, RolloutResult]) -> Iterator[RejectionReason]:
    """Reasons if a program does not end as it must: the naive and the true answer scored, and a run without an answer
    rejected.
    """
    for name, wanted in (("naive", "scored"), ("nop", "rejected"), ("oracle", "scored")):
        result = results[name]
        if result.state == "error":
            yield RejectionReason("machinery", f"the program {name} could not be run: {result.reason}")
        elif result.state != wanted:
            yield RejectionReason(
                "smoke-failed", f"the program {name} ended {result.state}, expected {wanted}: {result.reason}"
            )


def _best(scores: Mapping[str, float]) -> Iterator[RejectionReason]:
    """A reason if any agent scores better than the true answer."""
    best = scores.get("oracle")
    if best is None:
        return
    # As good is allowed: a baseline may solve the task.
    beaten = [name for name, value in scores.items() if name != "oracle" and value < best]
    if beaten:
        yield RejectionReason("oracle-not-best", f"{', '.join(beaten)} score better than the true answer ({best:.4g})")
