"""Admitting a metric that a model wrote: by the bank's own suite, with every call made in the sandbox."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from openfingym.errors import UsageError
from openfingym.forge.rewards.evaluated import Call, Value, evaluate
from openfingym.metrics.admission import admit, examine
from openfingym.metrics.cases import CASES
from openfingym.metrics.record import SHAPES, Metric, Problem

PASSES = 8
"""How often the suite is gone through, each time knowing more of the values it asks for."""
STARTS_WITH = "proper = False"


class ReplayedMetric:
    """A metric's function that knows the values of calls that were made in the sandbox, and notes the others.

    The suite is gone through again and again: what it asks for and is not known is computed in the sandbox between two
    passes, all at once.
    """

    def __init__(self, code: str) -> None:
        """Nothing is known of the code's values yet."""
        self._code = code
        self._known: dict[str, Value] = {}
        self._missing: dict[str, Call] = {}
        self.broken = ""
        """Why the sandbox gave no values at all."""

    def __call__(self, **arguments: Any) -> float:
        """The value of a call, once it is known; before, a number that means nothing."""
        key = _digest(arguments)
        value = self._known.get(key, 0.5)
        if key not in self._known:
            self._missing[key] = {name: np.array(values) for name, values in arguments.items()}
        if not isinstance(value, str):
            return value
        if value.startswith("gives "):
            return float(value.removeprefix("gives "))
        raise UsageError(value)

    def learn(self) -> bool:
        """Compute what was asked for and not known; False where nothing was."""
        missing, self._missing = self._missing, {}
        if not missing or self.broken:
            return False
        found = evaluate(self._code, list(missing.values()))
        if isinstance(found, str):
            self.broken = found
            return False
        self._known.update(zip(missing, found, strict=True))
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
    """The metric of some code, if the bank admits it; its function is not to be called any more.

    Args:
        code: source text with a function ``metric``, which is run in the sandbox alone.
        problem: the kind of question.
        name: its name in the bank, which is free.
        direction: which way is better.
        description: what is computed, in one line.
        unit: unit of the result.
        source: the paper, and the place in it.

    Raises:
        UsageError: it is not admitted; lists everything found.
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
        if function.learn():
            continue
        if function.broken:
            raise UsageError(f"the metric {name!r} is not admitted:\n- {function.broken}")
        if faults and metric.proper and all(STARTS_WITH in fault for fault in faults):
            metric = replace(metric, proper=False)
            continue
        break
    for _ in range(PASSES):
        try:
            found = admit(metric)
        except UsageError:
            if not function.learn():
                raise
        else:
            if not function.learn():
                return found
    raise UsageError(f"the metric {name!r} is not admitted:\n- its values are not the same twice")


def _perfect(code: str, problem: Problem) -> float | None:
    """The value of the perfect answer, where it is the same on every case; else None."""
    calls = []
    for seed in range(3):
        case = CASES[problem](np.random.default_rng(seed))
        calls.append({**case.truth, **case.perfect})
    found = evaluate(code, calls)
    numbers = [value for value in found if isinstance(value, float)]
    if len(numbers) < len(calls) or np.ptp(numbers) > 1e-9:
        return None
    return round(numbers[0], 9)


def free_name(name: str, taken: Sequence[str]) -> str:
    """A name for the bank made of a paper's name: lower case, digits and underscores."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:48] or "metric"
    if not plain[0].isalpha():
        plain = f"metric_{plain}"
    found, number = plain, 2
    while found in taken:
        found, number = f"{plain}_{number}", number + 1
    return found


def plug_in(metric: Metric, code: str) -> dict[str, str]:
    """The files of a package that offers a metric, which a person may read and install.

    Returns:
        Texts by the name of their file.
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
    digest = hashlib.sha256()
    for name in sorted(arguments):
        values = np.ascontiguousarray(arguments[name])
        digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
