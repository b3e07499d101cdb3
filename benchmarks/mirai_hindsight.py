"""What looking ahead gains: the same agents on the same questions of MIRAI's simulated world, with tools that answer as
of each question's time, and with tools that ignore when things became known.

    .venv/bin/python benchmarks/mirai_hindsight.py            # a table in Markdown; a few minutes

Results with hindsight are of tasks of their own, `NAME-hindsight`, and of a kind of data of their own, so that no
report sets them beside others; this table is what they are for.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from size import sized

from openfingym import catalog
from openfingym.agents import Agent, resolve
from openfingym.kinds.hindsight import SUFFIX
from openfingym.models import ModelSpec
from openfingym.rollouts.launcher import Launcher

TASKS = {1: "mirai-relation-forecast", **sized({30: "mirai-relation-forecast-30d"}, {})}
LATEST = """
import interface

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    pair = {"head_entities": [query["head"]], "tail_entities": [query["tail"]]}
    seen, *_ = env.step({"tool": "get_events", "arguments": pair})
    days = sorted({event[0] for event in seen["value"] or []}, reverse=True)[:DAYS]
    found = {}
    for event in seen["value"] or []:
        if event[0] in days and event[2] not in found.setdefault(event[2][:2], []):
            found[event[2][:2]].append(event[2])
    env.step({"answer": found or interface.contract["prior"]})
"""
"""Names what happened between the two on the latest days that it is shown."""
THE_DAY = """
import interface

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    pair = {"head_entities": [query["head"]], "tail_entities": [query["tail"]]}
    day = {"start_date": query["date"], "end_date": query["date"]}
    seen, *_ = env.step({"tool": "get_relation_distribution", "arguments": {**pair, "date_range": day}})
    if not seen["valid"] or not seen["value"]:
        seen, *_ = env.step({"tool": "get_relation_distribution", "arguments": pair})
    found = {}
    for code, _ in (seen["value"] or [])[:5]:
        found.setdefault(code[:2], []).append(code)
    env.step({"answer": found or interface.contract["prior"]})
"""
"""Asks for the day of the question itself, and for all days where it is told that it must not."""


def agents() -> list[tuple[str, Agent, ModelSpec | None]]:
    """Each with what it is called and the model it asks."""
    return [
        ("`naive`, which asks nothing", resolve("naive"), None),
        ("`recurrency`", resolve("recurrency"), None),
        ("`frequency`", resolve("frequency"), None),
        ("`react` with `stand-in/competent`", resolve("react"), ModelSpec.parse("stand-in/competent")),
        ("what happened on the latest 3 days shown", _program(LATEST.replace("DAYS", "3")), None),
        ("what happened on the latest day shown", _program(LATEST.replace("DAYS", "1")), None),
        ("the day itself, where it is shown", _program(THE_DAY), None),
    ]


def _program(text: str) -> Agent:
    return Agent("script", "program", text)


def main() -> None:
    """Print the table."""
    names = [name + end for name in TASKS.values() for end in ("", SUFFIX)]
    print("| agent | days ahead | F1 1 | with hindsight | F1 2 | with hindsight | gain in F1 2 |")
    print("|---|---|---|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory() as out,
        Launcher.for_tasks([catalog.load_task(name) for name in names], backend="sandbox") as launcher,
    ):
        packages = {package.manifest.name: package for package in launcher.packages}
        for place, (title, agent, model) in enumerate(agents()[: sized(None, 1)]):
            for days, name in TASKS.items():
                told = []
                for end in ("", SUFFIX):
                    result = launcher.run(packages[name + end], agent, model=model, out=Path(out) / f"{place}{end}")
                    assert result.state == "scored", result.reason
                    assert ("hindsight" in result.data_kind) == bool(end)
                    told.append(result.metrics)
                ones, twos = ([100.0 * one[f"{level}_level_f1"] for one in told] for level in ("first", "second"))
                cells = (*(f"{value:.1f}" for value in (*ones, *twos)), f"{twos[1] - twos[0]:+.1f}")
                print(f"| {title} | {days} | {' | '.join(cells)} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
