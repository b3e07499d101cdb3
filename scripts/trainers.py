#!/usr/bin/env python3
"""Run the contract tests against trainers, each in an environment of its own: ``scripts/trainers.py [NAME...]``.

Trainers exclude each other and take gigabytes, so none is a dependency, and the tests in ``tests/trainers/NAME/`` are
skipped where NAME is not installed. This makes an environment for each from ``tests/trainers/NAME/environment.txt``, a
file of requirements, and runs the folder's tests in it. Comments of the form ``#: WORD VALUE`` say what pip cannot:

    #: python 3.12               this version of Python or a later one; without it, the one that runs this script
    #: no-deps trl==1.16.0       installed last, without its dependencies
    #: without torchvision       taken away again: a build of it that does not fit PyTorch's

Environments are below ``$OPENFINGYM_TRAINERS``, or else ``.venvs/``, and made again when their requirements change. The
exit status is 1 where a test failed or an environment could not be made; one for which no Python is found is passed
over, and told.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "trainers"
COMMON = ("pytest>=8.3", "pytest-timeout>=2.3", "hypothesis>=6.115", "psutil>=6.1")
"""What the tests themselves need, whatever they test."""


def directives(requirements: str, word: str) -> list[str]:
    """Values of the comments ``#: word VALUE`` in a file of requirements."""
    return [line[len(word) + 4 :].strip() for line in requirements.splitlines() if line.startswith(f"#: {word} ")]


def trainers() -> list[str]:
    """Names of the trainers that there are tests of."""
    return sorted(path.parent.name for path in TESTS.glob("*/environment.txt"))


def python_of(requirements: str) -> str | None:
    """A Python that is new enough for these requirements; None where there is none."""
    wanted = [tuple(map(int, version.split("."))) for version in directives(requirements, "python")]
    if not wanted or sys.version_info[:2] >= wanted[0]:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(wanted[0][1], wanted[0][1] + 3)]
    found = [shutil.which(name) for name in names]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(path) for name in names for path in sorted(pyenv.glob(f"{name[6:]}*/bin/python"))]
    # A name in the path may be a shim that finds nothing.
    works = (
        one for one in found if one and subprocess.run([one, "-V"], capture_output=True, check=False).returncode == 0
    )
    return next(works, None)


def environment(name: str, home: Path) -> Path | None:
    """The Python of a trainer's environment, which is made if it is not there; None where it cannot be had.

    Raises:
        subprocess.CalledProcessError: pip could not install what is needed.
    """
    requirements = TESTS / name / "environment.txt"
    text = requirements.read_text(encoding="utf-8")
    base = python_of(text)
    if base is None:
        return None
    folder = home / name
    python, made = folder / "bin" / "python", folder / "made"
    key = hashlib.sha256(
        f"{base}\n{COMMON}\n{text}\n{(ROOT / 'pyproject.toml').read_text()}\n{ROOT}".encode()
    ).hexdigest()
    if made.exists() and made.read_text() == key:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([base, "-m", "venv", folder], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # The pip that comes with older versions of Python takes many times as long to resolve.
    subprocess.run([*pip, "--upgrade", "pip"], check=True)
    subprocess.run([*pip, "-r", requirements, *COMMON, "-e", ROOT], check=True)
    for last in directives(text, "no-deps"):
        subprocess.run([*pip, "--no-deps", *last.split()], check=True)
    for unfit in directives(text, "without"):
        subprocess.run([str(python), "-m", "pip", "uninstall", "--quiet", "--yes", *unfit.split()], check=True)
    made.write_text(key)
    return python


def main() -> int:
    """Test the trainers that are named, or all."""
    known = trainers()
    parser = argparse.ArgumentParser(description="Run the contract tests against trainers, each in its environment.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; default: all")
    parser.add_argument("--only-make", action="store_true", help="make the environments and run nothing")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"no tests of {', '.join(unknown)}; there are those of {', '.join(known)}")
    home = Path(os.environ.get("OPENFINGYM_TRAINERS") or ROOT / ".venvs").resolve()
    outcomes = {}
    for name in options.names or known:
        try:
            python = environment(name, home)
        except subprocess.CalledProcessError as error:
            outcomes[name] = f"no environment ({' '.join(map(str, error.cmd[:6]))} failed)"
            continue
        if python is None:
            outcomes[name] = "passed over: no Python that is new enough"
        elif options.only_make:
            outcomes[name] = "made"
        else:
            # Deprecations in a trainer are no failure of this library's.
            command = [python, "-m", "pytest", TESTS / name, "-q", "-W", "default", "-p", "no:cacheprovider"]
            done = subprocess.run(command, cwd=ROOT, env=os.environ | {"OPENFINGYM_TRAINER": name}, check=False)
            outcomes[name] = "passed" if done.returncode == 0 else f"failed (pytest: {done.returncode})"
    for name, outcome in outcomes.items():
        print(f"{name:<16}{outcome}")  # noqa: T201
    return int(any(outcome.startswith(("failed", "no environment")) for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
