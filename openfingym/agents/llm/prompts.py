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

SAFE = """\
- Submit something safe first, such as the naive answer, then what you believe in: \
the last accepted submission counts."""
SAVE = """\
- Save predictions with numpy.save and submit the file. Feedback is rationed: submit what you have validated.
- When your answer is submitted and you are content, write a message without a tool call."""
WALK = """\
- Practise first: `interface.iter_test(practice=True)` shows what goes wrong while it costs nothing. The private walk
  counts and is made once: what was answered stays, and a walk that is not brought to its end has no score."""
"""What takes the place of :data:`SAFE` and :data:`SAVE` where hidden windows are shown in the order of time."""

ROLE = "You are a quantitative researcher who solves one task of machine learning on financial data."
"""The first line of a system message."""


def for_task(system: str, libraries: Libraries | None, *, walks: bool) -> str:
    """A system message as it fits the task and the machine.

    Args:
        system: the message; see :func:`with_methods`.
        libraries: the libraries that programs can import; None where it is not known where they will run.
        walks: whether hidden windows are shown in the order of time.
    """
    if walks:
        system = system.replace(SAFE, WALK).replace(SAVE, WALK)
    return with_methods(system, libraries)


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
