"""A coding command line plays a task inside the sandbox or container: mini-swe-agent, installed from the package index.

    python examples/coding_cli.py                                     # a stand-in for a model: no key, no network
    python examples/coding_cli.py --model gpt-4.1-mini                # $OPENAI_API_KEY, which stays outside

The first run installs the command line into a folder of its own, for the Python that runs this script, which is also
the sandbox's. With ``--backend docker`` it must be of the image's version. The command line's programs run where any
agent's do; its loop does too, and asks its model through the gate.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import openfingym
from openfingym.agents import resolve

REQUIREMENT = "mini-swe-agent==2.4.6"
COMMAND = (
    # Its own settings: no questions at the first start, and no table of prices for a model that it does not know.
    "MSWEA_CONFIGURED=true",
    "MSWEA_COST_TRACKING=ignore_errors",
    "mini",
    *("--yolo", "--exit-immediately", "--cost-limit", "0"),
    *("--model", "openai/{model}", "--task", "{prompt}", "--output", "/work/mini.json"),
)


def installed(folder: Path) -> Path:
    """The folder with the command line, which is installed into it where it is not there."""
    if not (folder / "bin" / "mini").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), REQUIREMENT]
        subprocess.run(pip, check=True)
    return folder


def main() -> None:
    """Play one task, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("mini-swe-agent"), help="where the command line is")
    parser.add_argument("--task", default="treasury-forecast")
    parser.add_argument("--model", default="stand-in/competent")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--out", default="runs")
    options = parser.parse_args()
    agent = resolve("cli", command=COMMAND, mount=installed(options.folder))
    result = openfingym.run(options.task, agent, model=options.model, backend=options.backend, out=options.out)
    print(f"{result.state} ({result.isolation}): relative total {result.relative_total}, {result.turns} answers")
    print(result.reason or f"read what was done: openfingym view {result.path}")


if __name__ == "__main__":
    main()
