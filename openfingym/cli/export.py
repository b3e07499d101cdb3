"""``openfingym export``."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.choices import STATES
from openfingym.cli.render import print_json
from openfingym.cli.task import json_option
from openfingym.errors import DataError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openfingym.trajectory import RolloutRecord


@click.group()
def export() -> None:
    """Write what was recorded in the formats others read."""


@export.command()
@click.argument("runs", metavar="RUNS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["atif", "openai", "native"]),
    required=True,
    help="Harbor's trials with ATIF 1.8, OpenAI's fine-tuning lines, or the complete record.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder; of openai, one .jsonl file.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    help="Only rollouts in this state; may be given again. Default: all.",
)
@json_option("an object")
def trajectories(runs: tuple[Path, ...], form: str, out: Path, states: tuple[str, ...], as_json: bool) -> None:
    """Export the trajectories of runs: files, run folders, or folders of run folders.

    A rollout found twice is written once. One in which no model spoke is left out of the formats that have no
    place for it, and counted.
    """
    from openfingym.trajectory import find_rollouts, read_rollout

    left_out = {"repeated": 0, "other state": 0, "no messages": 0}

    def chosen() -> Iterator[RolloutRecord]:
        seen = set()
        for path in find_rollouts(runs):
            rollout = read_rollout(path)
            if rollout.id in seen:
                left_out["repeated"] += 1
            elif states and rollout.score.state not in states:
                left_out["other state"] += 1
            else:
                seen.add(rollout.id)
                yield rollout

    written = 0
    write = {"atif": lambda: _trials(chosen(), out, left_out), "openai": lambda: _lines(chosen(), out, left_out)}
    try:
        for _ in write.get(form, lambda: _records(chosen(), out))():
            written += 1
    except OSError as error:
        raise StoreError(f"{out}: cannot be written ({error.strerror}); choose another place with --out") from error
    if not written:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
        found = f" (left out: {reasons})" if reasons else "; a run has one where a model took part"
        raise UsageError(f"no trajectory to export in {', '.join(map(str, runs))}{found}")
    if as_json:
        print_json({"format": form, "out": str(out), "written": written, "left_out": left_out})
        return
    click.echo(f"{written} trajectories in {out}")
    for reason, count in left_out.items():
        if count:
            click.echo(f"left out: {count} ({reason})")


@export.command()
@click.argument("runs", metavar="RUNS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Id of the dataset, such as equity-trading/momentum-v0.")
@click.option("--author", help="Who made it.  [default: unknown]")
@click.option("--lookback", type=click.IntRange(min=1), default=16, show_default=True, help="Bars of an observation.")
@json_option("an object")
def minari(runs: tuple[Path, ...], name: str, author: str | None, lookback: int, as_json: bool) -> None:
    """Export trading runs as a dataset for offline learning, below $MINARI_DATASETS_PATH.

    Observations are made again by playing the recorded actions, which must lead to the recorded account. The dataset
    holds hidden bars that the agent saw, and no others.
    """
    from openfingym.envs.offline import to_minari
    from openfingym.reports.runs import run_folders

    dataset = to_minari(list(run_folders(runs)), name, author=author, lookback=lookback)
    path, metadata = Path(dataset.storage.data_path), dataset.storage.metadata
    if as_json:
        print_json(
            {
                "name": name,
                "path": str(path),
                "episodes": dataset.total_episodes,
                "steps": dataset.total_steps,
                "data_kind": metadata["data_kind"],
                "licence": metadata["licence"],
            }
        )
        return
    click.echo(f"{dataset.total_episodes} episodes of {dataset.total_steps} steps in all in {path}")
    click.echo(f"data: {metadata['data_kind']}; licence: {metadata['licence']}")
    click.echo("made from hidden bars: do not score on this task what was trained on it")


@export.command()
def schema() -> None:
    """Print the JSON schema of the native record."""
    from openfingym.trajectory import rollout_schema

    click.echo(json.dumps(rollout_schema(), indent=2, sort_keys=True))


def _records(rollouts: Iterator[RolloutRecord], out: Path) -> Iterator[Path]:
    """Write one file a rollout."""
    from openfingym.trajectory import write_rollout

    for rollout in rollouts:
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{rollout.id}.json"
        write_rollout(path, rollout)
        yield path


def _trials(rollouts: Iterator[RolloutRecord], out: Path, left_out: dict[str, int]) -> Iterator[Path]:
    """Write one trial of Harbor a rollout."""
    from openfingym.files.whole import write_text
    from openfingym.trajectory import to_atif, to_trial, trial_name

    for rollout in rollouts:
        try:
            document = to_atif(rollout)
        except DataError:
            left_out["no messages"] += 1
            continue
        folder = out / trial_name(rollout)
        (folder / "agent").mkdir(parents=True, exist_ok=True)
        for path, content in (
            (folder / "agent" / "trajectory.json", document),
            (folder / "result.json", to_trial(rollout)),
        ):
            write_text(
                path,
                json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
                errors="backslashreplace",
            )
        yield folder


def _lines(rollouts: Iterator[RolloutRecord], out: Path, left_out: dict[str, int]) -> Iterator[Path]:
    """Write one line a rollout; the file appears complete or not at all."""
    from openfingym.files.whole import whole_file
    from openfingym.trajectory import to_openai

    def lines() -> Iterator[str]:
        for rollout in rollouts:
            try:
                yield json.dumps(to_openai(rollout), ensure_ascii=False, allow_nan=False) + "\n"
            except DataError:
                left_out["no messages"] += 1

    found = lines()
    first = next(found, None)
    if first is None:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(out) as stream:
        for line in chain([first], found):
            stream.write(line)
            yield out
