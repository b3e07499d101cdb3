"""``openfingym view``."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.choices import STATES
from openfingym.cli.completion import complete_agent, complete_task
from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import number, print_json, print_table, with_interval
from openfingym.errors import StoreError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from openfingym.results import RolloutResult
    from openfingym.trajectory import RolloutRecord

LINES = 24
"""Lines that are shown of each text without ``--full``."""
OUTPUT_MB = 64
"""The most MiB of a program's output that are read; no limit of ours lets a program print as much."""
FILES = 1000
"""The most files of a run that are named: a stranger's folder may hold millions."""
REASON = 200
"""The most characters of a reason in a list."""


@click.command()
@click.argument(
    "runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    shell_complete=complete_task,
    help="Only rollouts of this task, or of tasks whose names match a glob; repeatable.",
)
@click.option("--agent", "agents", multiple=True, shell_complete=complete_agent, help="Only of this agent; repeatable.")
@click.option("--model", "models", multiple=True, help="Only of this model; repeatable.")
@click.option("--seed", "seeds", multiple=True, type=int, help="Only with this seed; repeatable.")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only in this state; repeatable.")
@click.option(
    "--full", is_flag=True, help=f"Show every line; default: of each text the first and last, {LINES} together."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    help="Write a self-contained page of a rollout to this FILE.html; of several, a page each and an index into this "
    "folder.",
)
@json_option("a list of results, also of one; that one has its trajectory as well")
def view(
    runs: tuple[Path, ...],
    tasks: tuple[str, ...],
    agents: tuple[str, ...],
    models: tuple[str, ...],
    seeds: tuple[int, ...],
    states: tuple[str, ...],
    full: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    """Read what an agent did, and how it ended.

    RUN is the folder of one rollout, or of many: these are listed, unless the options leave but one.
    """
    finished = list(_results(runs))
    chosen = [
        (folder, result)
        for folder, result in finished
        if (not tasks or any(fnmatch.fnmatch(result.task, task) for task in tasks))
        and (not agents or result.agent in agents)
        and (not models or result.model in models)
        and (not seeds or result.seed in seeds)
        and (not states or result.state in states)
    ]
    if not chosen:
        raise UsageError(
            f"{', '.join(map(str, runs))}: "
            + (
                f"none of the {len(finished)} rollouts there matches the options; leave one out, or give another value"
                if finished
                else "no finished rollout is there; give the folder of a run or of a rollout"
            )
        )
    if html is not None:
        if full or as_json:
            raise UsageError("--html writes pages, and goes with neither --full nor --json; leave one out")
        say(str(_write_pages(html, chosen).absolute()))
        return
    if len(chosen) > 1:
        _list(chosen, as_json=as_json)
        return
    folder, result = chosen[0]
    rollout = _trajectory(folder)
    if as_json:
        print_json([_plain(folder, result) | {"trajectory": rollout.model_dump(mode="json") if rollout else None}])
        return
    from rich.console import Console

    _show(Console(highlight=False), folder, result, rollout, None if full else LINES)


def _write_pages(place: Path, chosen: list[tuple[Path, RolloutResult]]) -> Path:
    """Write a page to a file, or pages with an index into a folder; returns the page to open first."""
    from openfingym.cli.render import TerminalProgress
    from openfingym.reports.rollout.pages import is_file_name, write_page, write_pages

    if not is_file_name(place):
        with TerminalProgress() as show:
            return write_pages(place, chosen, progress=show)
    if len(chosen) > 1:
        raise UsageError(
            f"{place} is the name of one page, and these are {len(chosen)} rollouts; give a folder, such as "
            f"{place.with_suffix('')}, or say which rollout by --task, --agent, --model, --seed or --state"
        )
    write_page(place, *chosen[0])
    return place


def _results(places: Iterable[Path]) -> Iterator[tuple[Path, RolloutResult]]:
    """Finished rollouts at or below some folders, with their results.

    Rollouts that are running are left out; results that cannot be read are named on stderr, and those that their own
    receipts contradict have no score.
    """
    from openfingym.reports.runs import run_folders
    from openfingym.results import read_run
    from openfingym.verifiers.backing import as_believed

    for folder in run_folders(tuple(places)):
        try:
            yield folder, as_believed(folder, read_run(folder))
        except StoreError as error:
            say(f"left out: {error}", err=True)


def _trajectory(folder: Path) -> RolloutRecord | None:
    """The record of what an agent said and did; None where there is none."""
    from openfingym.results.run_folder import TRAJECTORY
    from openfingym.trajectory.files import read_rollout

    # Also a link that leads nowhere exists: reading it gives the error that says so.
    return read_rollout(folder / TRAJECTORY) if os.path.lexists(folder / TRAJECTORY) else None


def _plain(folder: Path, result: RolloutResult) -> dict[str, object]:
    return result.to_dict() | {"path": str(folder)}


def _list(chosen: list[tuple[Path, RolloutResult]], *, as_json: bool) -> None:
    if as_json:
        print_json([_plain(folder, result) for folder, result in chosen])
        return
    from openfingym.cli.printable import one_line

    columns = ["state", "skill", "task", "agent", "model", "seed", "attempt", "answers", "folder"]
    rows = [
        (r.state, number(r.skill, 3), r.task, r.agent_label, r.model or "-", r.seed, r.attempt, r.turns or "-", folder)
        for folder, r in chosen
    ]
    optional = ["folder", "answers", "attempt", "model", "agent", "seed"]
    print_table("", columns, rows, right=["skill", "seed", "attempt", "answers"], optional=optional)
    for _, r in chosen:
        if r.reason:
            say(f"{r.task} {r.agent} seed {r.seed}: {r.state}: {one_line(r.reason, REASON)}")
    which = "--task, --agent, --model, --seed, --state, or its folder"
    say(f"{len(chosen)} rollouts; to read one, say which: {which}: {chosen[0][0]}")


def _show(
    console: Console, folder: Path, result: RolloutResult, rollout: RolloutRecord | None, lines: int | None
) -> None:
    from rich.text import Text

    from openfingym.cli.conversation import print_block, print_conversation
    from openfingym.cli.printable import printable

    def say(text: str, style: str = "") -> None:
        console.print(Text(printable(text), style=style), soft_wrap=True)

    who = result.agent_label + (f" with {result.model}" if result.model else "")
    say(f"{result.task}: {who}, seed {result.seed}, attempt {result.attempt}", "bold")
    if rollout is not None:
        print_conversation(console, rollout, lines)
    output = _output(folder)
    # Where programs were run by calls of tools, their output is in the conversation.
    if output.strip() and (rollout is None or not any(turn.tool_calls for turn in rollout.messages)):
        say("\noutput of the program", "bold")
        print_block(console, output, lines)
    say(f"\n{_outcome(result)}", "bold green" if result.state == "scored" else "bold red")
    from openfingym.verifiers.backing import receipt_in_words

    for line in (*_account(result, rollout), f"receipt: {receipt_in_words(folder, result)}"):
        say(f"    {line}")
    names = sorted(path.name for path in islice(folder.iterdir(), FILES))
    say(f"    {folder}: {', '.join(names)}")


def _output(folder: Path) -> str:
    """The output of the program, or why it cannot be read; empty where there is no such file."""
    from openfingym.files.strange import MEGABYTE, read_bytes
    from openfingym.results.run_folder import OUTPUT

    try:
        return read_bytes(folder, OUTPUT, OUTPUT_MB * MEGABYTE).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"output.log: {error.strerror}"


def _outcome(result: RolloutResult) -> str:
    """How a rollout ended, in one line."""
    from openfingym.cli.printable import one_line
    from openfingym.reports.rollout.page import VERDICTS

    if result.state != "scored":
        whose = f" ({result.boundary})" if result.boundary else ""
        return f"{result.state}{whose}: {one_line(result.reason or 'no reason was given', 1000)}"
    against = f" ({result.baseline} {number(result.baseline_total)})" if result.baseline else ""
    verdict = f", {VERDICTS[result.verdict]}" if result.verdict else ""
    return (
        f"scored: skill {with_interval(result.skill, result.skill_interval)}, total "
        f"{with_interval(result.total, result.total_interval)}{against}, {result.data_kind} data{verdict}"
    )


def _account(result: RolloutResult, rollout: RolloutRecord | None) -> Iterator[str]:
    """Lines about a result: its metrics, its time, submissions and cost, and what was flagged."""
    for name, value in result.metrics.items():
        base = result.baseline_metrics.get(name)
        error = result.standard_errors.get(name)
        spread = "" if error is None else f" +- {number(error, 2)}"
        beside = "" if base is None else f" ({result.baseline} {number(base)})"
        yield f"{name} {number(value)}{spread}{beside}"
    from openfingym.results.result import ISOLATION_IN_WORDS

    took = f"{result.wall_s:.1f} s"
    if rollout is not None:
        timing = rollout.timing
        took += f", {timing.model_s:.1f} s of them waiting for the model, {timing.execution_s:.1f} s running programs"
    if result.verifier_s is not None:
        took += f", and {result.verifier_s:.1f} s of the verifier"
    accepted = f"{result.submissions_accepted} of {result.budget} submissions accepted"
    yield f"{took}; ended by {result.ended_by or 'nothing known'}; {accepted}"
    if result.turns:
        cost = "cost unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
        yield f"{result.turns} answers, {result.prompt_tokens} + {result.completion_tokens} tokens, {cost}"
    yield f"in isolation ran: {ISOLATION_IN_WORDS[result.isolation]}; as its launcher states it"
    for flag in result.flags:
        yield f"flagged by the verifier: {flag}"
