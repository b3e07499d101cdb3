"""How the verifier starts its own child programs: the interpreter, and an environment with the same packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import openfingym_verifier
from openfingym import version

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Read by numerical libraries when they are loaded, so they must be set before a program starts."""


def command(module: str) -> list[str]:
    """Command-line arguments that run a module as a program."""
    # -P: the current directory must not shadow modules of the standard library.
    return [sys.executable, "-P", "-m", module]


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, with the packages on the path however they came onto its own.

    Args:
        changes: variables to set, by name.
    """
    # Of a checkout or an editable install, the packages may be on this process's path and nowhere else.
    homes = [str(Path(file).resolve().parents[1]) for file in (version.__file__, openfingym_verifier.__file__)]
    path = os.pathsep.join(dict.fromkeys([*homes, *filter(None, [os.environ.get("PYTHONPATH")])]))
    return {**os.environ, "PYTHONPATH": path, **changes}
