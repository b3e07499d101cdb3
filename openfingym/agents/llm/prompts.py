"""Parts of system messages that several agents share, whatever the form of their conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.machine import Libraries

_CLASSICAL = (
    ("ridge", "scikit-learn"),
    ("lasso", "scikit-learn"),
    ("histogram gradient boosting\n  (HistGradientBoosting)", "scikit-learn"),
    ("LightGBM", "LightGBM"),
    ("ARIMA or VAR", "statsmodels"),
    ("exponential smoothing", "statsmodels"),
    ("GARCH", "arch"),
)
"""The methods that the paper's system prompt names, each with the library that a program takes it from."""
_TAKEN = f"Take classical methods: {', '.join(method for method, _ in _CLASSICAL)}."
METHODS = f"""\
- Do not train neural networks from scratch. {_TAKEN}
- Validate on later data than you fit on, and shrink towards the naive answer: markets are close to unpredictable,
  and a bold answer without skill scores worse than the baseline.
- Only the installed libraries are there, and no network. Keep to the limits of time and memory that the task states.
- `import interface` is the task: its data, its contract, and the only way to answer it."""
"""Rules of the paper's system prompt (arXiv:2606.26350, appendix B), and of the machine that runs the programs."""

ROLE = "You are a quantitative researcher who solves one task of machine learning on financial data."
"""The first line of a system message."""


def with_methods(system: str, libraries: Libraries | None) -> str:
    """A system message that names no method whose library is missing, as the instruction does not either.

    Args:
        system: the message; in one without :data:`METHODS`, nothing is changed.
        libraries: the libraries that programs can import; None where it is not known where they will run.
    """
    if libraries is None:
        return system
    there = [method for method, library in _CLASSICAL if library in libraries.installed]
    return system.replace(
        _TAKEN, f"Take classical methods: {', '.join(there)}." if there else "Take classical methods."
    )
