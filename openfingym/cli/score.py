"""``openfingym score``."""

from __future__ import annotations

from pathlib import Path

import click

from openfingym.cli.completion import complete_task
from openfingym.cli.options import json_option, real_option
from openfingym.cli.printable import say
from openfingym.cli.render import number, print_json, print_table, with_interval

FILE = click.Path(path_type=Path)


@click.command()
@click.option("--task", "name", required=True, shell_complete=complete_task, help="Name or folder of the task.")
@click.option("--submission", required=True, type=FILE, help="The answer: .npy, .npz, .json, .csv, .arrow or .parquet.")
@click.option(
    "--truth", required=True, type=FILE, help="The hidden arrays: a folder of .npy files, an .npz, or one .npy."
)
@real_option
@json_option("an object")
def score(name: str, submission: Path, truth: Path, real: bool, as_json: bool) -> None:
    """Score an answer of your own against a truth of your own.

    For whoever owns both files: what the verifier would say of them, on either fold, without a rollout.
    """
    from openfingym import catalog
    from openfingym.packages.build import build
    from openfingym.verifiers.scorecard import score_files

    card = score_files(build(catalog.load_task(name, real=real)), submission, truth)
    if as_json:
        print_json(card.to_dict())
        return
    names = list(card.private.metrics)
    # The baseline is shown on the private fold alone, which scores.
    rows = [
        (
            key,
            *(number(fold.metrics[key]) for fold in (card.public, card.private)),
            number(card.private.baseline_metrics[key]),
        )
        for key in names
    ]
    both = card.public, card.private
    rows.append(("total", *(with_interval(fold.total, fold.total_interval) for fold in both), ""))
    rows.append(("relative total", *(with_interval(fold.relative_total, fold.relative_interval) for fold in both), "1"))
    right = ["public fold", "private fold", f"{card.baseline} (private)"]
    for remark in card.warnings:
        say(f"warning: {remark}", err=True)
    print_table(f"{card.task}: {card.data_kind} data", ["metric", *right], rows, right=right)
    if card.private.relative_interval is not None:
        say("[low, high]: 95 % interval, for what other hidden rows of the same market would have given")
    say(
        "total: the source paper's loss, lower is better; relative total: each metric's loss over the baseline's, "
        "geometric mean, 1 is the baseline"
    )
