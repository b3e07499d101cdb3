"""Admitting a metric that a model wrote: by the bank's own tests, with every call made in the sandbox."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.admission import admit, examine
from openfingym.metrics.cases import CASES
from openfingym.metrics.record import SHAPES, Metric, Problem
from openfingym_forge.rewards.evaluated import Call, Value, evaluate

PASSES = 8
"""How often the bank's tests are gone through at most; each time, more of the values that they ask for are known."""
STARTS_WITH = "proper = False"
"""What the bank says of a metric that must be declared improper."""


class ReplayedMetric:
    """A metric's function that knows the values of calls that were made in the sandbox, and notes the other calls.

    The bank's tests call a metric in this process, where a model's code must not run. So they are gone through several
    times: the values that they asked for and that were not known are computed in the sandbox in between, all at once.
    """

    def __init__(self, code: str) -> None:
        """A function of which no value is known yet.

        Args:
            code: source text with a function ``metric``, which was screened.
        """
        self._code = code
        # Both by the digest of the call's arguments.
        self._known: dict[str, Value] = {}
        self._missing: dict[str, Call] = {}
        self.broken = ""
        """Why the sandbox gave no values at all."""

    def __call__(self, **arguments: Any) -> float:
        """The value of a call; as long as it is not known, a number that means nothing.

        Raises:
            UsageError: the code refuses the arguments.
        """
        key = _digest(arguments)
        value = self._known.get(key, 0.5)
        if key not in self._known:
            # Copied: the tests may change an array after the call.
            self._missing[key] = {name: np.array(values) for name, values in arguments.items()}
        if not isinstance(value, str):
            return value
        # NaN and the infinities, which the bank's tests have their own opinion of.
        if value.startswith("gives "):
            return float(value.removeprefix("gives "))
        raise UsageError(value)

    def learn(self) -> bool:
        """Compute the values of the calls that were noted; False where there was none, or none can be computed."""
        missing, self._missing = self._missing, {}
        if not missing or self.broken:
            return False
        values = evaluate(self._code, list(missing.values()))
        if isinstance(values, str):
            self.broken = values
            return False
        self._known.update(zip(missing, values, strict=True))
        return True


def admitted(
    code: str,
    problem: Problem,
    *,
    name: str,
    direction: Literal["lower", "higher"],
    description: str,
    unit: str,
    source: str,
) -> Metric:
    """The metric of some code, if the bank admits it. Its function knows the values of the tests alone.

    Args:
        code: source text with a function ``metric``, which is run in the sandbox alone.
        problem: the kind of question that it is asked on.
        name: name of the metric in the bank, which no other metric has.
        direction: whether a lower or a higher value is better.
        description: what the metric computes, in one line.
        unit: unit of the metric's values.
        source: the paper, and the place in it.

    Raises:
        UsageError: the metric is not admitted; the text lists everything that speaks against it.
        BackendUnavailableError: nothing on this machine can isolate programs.
    """  # fmt: skip
    function = ReplayedMetric(code)
    perfect = _perfect(code, problem)
    metric = Metric(
        name=name,
        function=function,
        problem=problem,
        description=description,
        unit=unit,
        source=source,
        direction=direction,
        range=(-math.inf, math.inf),
        optimum=perfect,
    )
    for _ in range(PASSES):
        faults = examine(metric)
        # As long as values were missing, faults mean nothing. What is asked for next may depend on the values.
        if function.learn():
            continue
        if function.broken:
            raise UsageError(f"the metric {name!r} is not admitted:\n- {function.broken}")
        # No paper says that its metric is improper: found to be, it is declared so, and examined anew.
        if faults and metric.proper and all(STARTS_WITH in fault for fault in faults):
            metric = replace(metric, proper=False)
            continue
        break
    # Admission asks for more than examination; again, its word counts once all values were known.
    for _ in range(PASSES):
        try:
            record = admit(metric)
        except UsageError:
            if not function.learn():
                raise
        else:
            if not function.learn():
                return record
    # A metric that always asks for something new is called with other arrays each time.
    raise UsageError(f"the metric {name!r} is not admitted:\n- its values are not the same twice")


def _perfect(code: str, problem: Problem) -> float | None:
    """The value of the perfect answer, if it is the same on three random questions; else None."""
    calls = []
    for seed in range(3):
        case = CASES[problem](np.random.default_rng(seed))
        calls.append({**case.truth, **case.perfect})
    values = evaluate(code, calls)
    numbers = [value for value in values if isinstance(value, float)]
    if len(numbers) < len(calls) or np.ptp(numbers) > 1e-9:
        return None
    return round(numbers[0], 9)


def free_name(name: str, taken: Sequence[str]) -> str:
    """A name for the bank, made of the name that a paper gives its metric.

    Args:
        name: name by which the paper calls its metric.
        taken: names that other metrics have.

    Returns:
        Lower-case letters, digits and underscores; with a number behind it where another metric has the name.
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:48] or "metric"
    if not plain[0].isalpha():
        plain = f"metric_{plain}"
    free, number = plain, 2
    while free in taken:
        free, number = f"{plain}_{number}", number + 1
    return free


def plug_in(metric: Metric, code: str) -> dict[str, str]:
    """The files of a package that offers a metric, which a person may read and install.

    Args:
        metric: the metric, as the bank admitted it.
        code: source text of its function.

    Returns:
        The text of each file, by its name.
    """
    module = f"openfingym_metric_{metric.name}"
    return {
        "pyproject.toml": f"""[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "{module.replace("_", "-")}"
version = "1"
dependencies = ["openfingym"]

[project.entry-points."openfingym.metrics"]
{metric.name} = "{module}:METRIC"

[tool.setuptools]
py-modules = ["{module}"]
""",
        f"{module}.py": f"""{code.rstrip()}


def _checked({", ".join(SHAPES[metric.problem])}):
    from openfingym.errors import UsageError

    try:
        return float(metric({", ".join(SHAPES[metric.problem])}))
    except (ArithmeticError, ValueError) as error:
        raise UsageError(str(error)) from error


from openfingym.metrics.record import Metric  # noqa: E402

METRIC = Metric(
    name={metric.name!r},
    function=_checked,
    problem={metric.problem!r},
    description={metric.description!r},
    unit={metric.unit!r},
    source={metric.source!r},
    direction={metric.direction!r},
    range=(float("-inf"), float("inf")),
    optimum={metric.optimum!r},
    proper={metric.proper!r},
)
""",
    }


def _digest(arguments: dict[str, Any]) -> str:
    """Digest of the arguments of a call: names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arguments):
        values = np.ascontiguousarray(arguments[name])
        digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
