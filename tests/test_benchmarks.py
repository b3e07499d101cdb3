"""Every benchmark still runs: in its short form, which measures too little to be judged."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
RUN = FOLDER / "run.py"
IN_CONTAINERS = {"rollout", "workspace"}
ISOLATED = {"channels", "desk", "mirai_hindsight", "rewards", "turns"}
MODULES = {"metric_peers", "run", "size", "trading_peers"}
BENCHMARKS = sorted({path.stem for path in FOLDER.glob("*.py")} - MODULES)


@pytest.mark.rest
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.docker] * (name in IN_CONTAINERS) + [pytest.mark.sandbox] * (name in ISOLATED),
        )
        for name in BENCHMARKS
    ],
)
def test_it_runs(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), "--short"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d", done.stdout), "it prints what it measured"


def test_all_of_them_are_run_and_an_unknown_one_is_refused() -> None:
    done = subprocess.run([sys.executable, str(RUN), "no-such"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == f"no benchmark is named no-such; known: {', '.join(BENCHMARKS)}"


def test_a_table_of_all_comes_at_the_end(tmp_path: Path) -> None:
    """With programs in the place of benchmarks: one that ends well, one that misses its target, and two that fail."""
    for module in ("run", "size"):
        (tmp_path / f"{module}.py").write_text((FOLDER / f"{module}.py").read_text())
    programs = {
        "good": "from size import SHORT, status\nprint('short', SHORT)\nraise SystemExit(status(True))",
        "late": "import sys\nprint('too slow')\nsys.exit(1)",
        "rotten": "print('before')\nNone.before",
        "unwell": "raise SystemExit(3)",
    }
    for name, text in programs.items():
        (tmp_path / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "run.py"), "--short"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "short True" in done.stdout
    table = done.stdout.rpartition("\nbenchmark ")[2].splitlines()[1:]
    assert [line.split()[:2] for line in table] == [
        ["good", "met"],
        ["late", "missed"],
        ["rotten", "failed"],
        ["unwell", "failed"],
    ]
