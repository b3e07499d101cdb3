"""Runs of a task through gate and verifier: a program that does nothing, the oracle, and baselines beside noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.adversarial.promise import SEED, reader_of
from openfingym.agents import resolve
from openfingym.agents.builtin import fitting
from openfingym.errors import SubmissionError
from openfingym.forge.stage import RejectionReason
from openfingym.kinds import kind_of, score_with_replicates
from openfingym.metrics import relative
from openfingym.metrics.sampling_error import sampling_error
from openfingym.rollouts.launcher import Launcher

if TYPE_CHECKING:
    from openfingym.kinds import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult

WANTED = 2
"""Baselines that must be better than noise."""
MOST = 5
"""Baselines that are tried, at most."""
DRAWN = ("gaussian", "random")
"""Baselines of the relative total that are drawn at random, and so are noise themselves."""
NOISE = ("noise of training volatility", "random weights at each step", "random past", "random past level")
"""Names of answers without skill that are noise; the first there is."""
FIRST = ("mean", "ridge", "rolling-ridge", "bootstrap", "copula", "degree", "graph-smooth", "equal-weight", "cash")
"""Baselines that are tried first: quick, and good at most tasks of their kind."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Trials:
    """What the runs gave."""

    reasons: tuple[RejectionReason, ...]
    scores: Mapping[str, float]
    """Relative total by agent; lower is better, 1 is the baseline."""
    better: tuple[str, ...]
    """Baselines that are better than noise."""
    certain: tuple[str, ...]
    """Those of them that are so by more than their 95 % interval and that of noise."""
    noise: float | None
    """Relative total of noise; None where noise is refused."""
    intervals: Mapping[str, Interval]
    """95 % interval of the relative total by agent, and of ``noise``; who has none is not here."""
    seconds: float
    """Seconds that all programs took."""

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return {
            "relative_totals": dict(self.scores),
            "noise": self.noise,
            "better_than_noise": list(self.better),
            "beyond_the_interval": list(self.certain),
            "intervals": {name: list(interval) for name, interval in self.intervals.items()},
            "seconds": round(self.seconds, 2),
        }


def trials(package: BuiltPackage, hidden: Mapping[str, Array], backend: str) -> Trials:
    """Run a task's programs with one verifier.

    Args:
        package: the built package.
        hidden: its hidden arrays by name.
        backend: how programs are isolated; they are the library's own.

    Raises:
        BackendUnavailableError: no such backend works here.
    """
    noise, ends = noise_of(package, hidden)
    # A kind with a single baseline beside noise cannot have two.
    wanted = min(WANTED, len(fitting(package.task)) - (package.task.spec.scoring.baseline in DRAWN))
    results: dict[str, RolloutResult] = {}
    with Launcher([package], backend=backend) as launcher:
        for name in ("naive", "nop", "oracle"):
            results[name] = launcher.run(package, resolve(name))
        for name in _order(package):
            better, certain = _compared(package, results, noise, ends)
            enough = len(better) >= wanted and (certain or kind_of(package.task).is_record)
            if enough or results["naive"].state != "scored":
                break
            results[name] = launcher.run(package, resolve(name))
        better, certain = _compared(package, results, noise, ends)
    scores = {name: one.relative_total for name, one in results.items() if one.relative_total is not None}
    reasons = [*_smoke(results), *_best(scores)]
    # The few episodes of an account tell nothing for certain: there, it is enough to be better.
    if not reasons and (len(better) < wanted or not (certain or kind_of(package.task).is_record)):
        shown = ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
        found = f"{len(better)} baselines are better than noise, {len(certain)} of them beyond the interval"
        needed = f"{wanted} are needed, one of them beyond it"
        reasons.append(
            RejectionReason("no-baseline-better", f"{found}; {needed}; relative totals: noise {noise}, {shown}")
        )
    seconds = sum(one.wall_s for one in results.values())
    return Trials(
        tuple(reasons), scores, tuple(better), tuple(certain), noise, _intervals(results, noise, ends), seconds
    )


def _intervals(results: Mapping[str, RolloutResult], noise: float | None, ends: Interval) -> dict[str, Interval]:
    """Finite intervals by agent; the baseline has none, since all totals are relative to it."""
    found = {name: one.relative_interval for name, one in results.items() if name != "naive"}
    if noise is not None and ends[0] < ends[1]:
        found["noise"] = ends
    return {name: one for name, one in found.items() if one is not None and np.isfinite(one).all()}


def _compared(
    package: BuiltPackage, results: Mapping[str, RolloutResult], noise: float | None, ends: Interval
) -> tuple[list[str], list[str]]:
    """Baselines that are better than noise, and those that are so for certain."""
    drawn = package.task.spec.scoring.baseline in DRAWN
    better, certain = [], []
    for name, one in results.items():
        if name in ("oracle", "nop") or (name == "naive" and drawn) or one.relative_total is None:
            continue
        if noise is None or one.relative_total < noise:
            better.append(name)
            if _below(one, ends):
                certain.append(name)
    return better, certain


def noise_of(package: BuiltPackage, hidden: Mapping[str, Array]) -> tuple[float | None, Interval]:
    """Relative total of noise with its 95 % interval; 1 where the baseline itself is drawn at random."""
    manifest, spec = package.manifest, package.task.spec
    if spec.scoring.baseline in DRAWN:
        return 1.0, (1.0, 1.0)
    kind, contract, shape = kind_of(package.task), spec.contract, manifest.submission_shape
    read = reader_of(package, hidden)
    public, private = kind.folds(spec, package.array, hidden, (manifest.n_public, manifest.n_private), 0)
    answers = kind.skillless(contract, read, shape, np.random.default_rng(SEED))
    answer = next(answers[name] for name in (*NOISE, *answers) if name in answers)
    design = kind.resampling(contract, private)
    try:
        kind.check(contract, public, answer)
        found, base = (
            score_with_replicates(contract, spec.scoring, private, values, design)
            for values in (answer, kind.naive(contract, read, shape))
        )
    except SubmissionError:
        # Noise that is refused is worse than any answer.
        return None, (float("inf"), float("inf"))
    interval = sampling_error(spec.scoring, found, base).relative_interval
    return relative(spec.scoring, found.metrics, base.metrics), interval or (0.0, float("inf"))


def _order(package: BuiltPackage) -> list[str]:
    fits = [name for name in fitting(package.task) if name != "naive"]
    ordered = [name for name in FIRST if name in fits] + [name for name in fits if name not in FIRST]
    return ordered[:MOST]


def _below(result: RolloutResult, noise: Interval) -> bool:
    """Whether the whole interval of a result lies below that of noise; the baseline itself is 1 exactly."""
    if result.state != "scored" or result.relative_total is None:
        return False
    interval = (1.0, 1.0) if result.agent == "naive" else result.relative_interval
    return interval is not None and interval[1] < noise[0]


def _smoke(results: Mapping[str, RolloutResult]) -> Iterator[RejectionReason]:
    for name, wanted in (("naive", "scored"), ("nop", "rejected"), ("oracle", "scored")):
        one = results[name]
        if one.state == "error":
            yield RejectionReason("machinery", f"the program {name} could not be run: {one.reason}")
        elif one.state != wanted:
            yield RejectionReason(
                "smoke-failed", f"the program {name} ended {one.state}, expected {wanted}: {one.reason}"
            )


def _best(scores: Mapping[str, float]) -> Iterator[RejectionReason]:
    best = scores.get("oracle")  # a baseline that solves the task scores the same
    if best is None:
        return
    beaten = [name for name, value in scores.items() if name != "oracle" and value < best]
    if beaten:
        yield RejectionReason("oracle-not-best", f"{', '.join(beaten)} score better than the true answer ({best:.4g})")
