"""``openfingym published``: scoring generated windows as their task's source paper does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.completion import complete_task
from openfingym.cli.options import json_option, real_option
from openfingym.cli.printable import say
from openfingym.cli.render import number, print_json, print_table

if TYPE_CHECKING:
    from openfingym.published.protocol import PaperFigure
    from openfingym.published.scoring import PublishedScore

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("subject", metavar="RUN|TASK", shell_complete=complete_task)
@click.argument("submission", metavar="[SUBMISSION]", type=FILE, required=False)
@click.option(
    "--truth", type=FILE, help="The hidden arrays, as for `openfingym score`; default: those of your own store."
)
@click.option("--metric", "only", multiple=True, help="Only this metric of the protocol; may be repeated.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of draws and networks.")
@real_option
@json_option("an object")
def published(
    subject: str,
    submission: Path | None,
    truth: Path | None,
    only: tuple[str, ...],
    seed: int,
    real: bool,
    as_json: bool,
) -> None:
    """Score generated windows as their task's source paper does, beside the paper's own figures.

    RUN is the folder of a finished rollout, whose last submission is scored; else name a TASK and an answer of your
    own. For whoever holds the hidden data. The numbers are no verified scores, and take minutes; those of networks
    need the extra `faithful`. docs/metrics.md lists the protocols.
    """
    from openfingym import catalog
    from openfingym.errors import UsageError
    from openfingym.packages.build import build
    from openfingym.published.answers import is_run, run_to_score, score_answer

    # Of a run, the digest says which build of the task it was on; an answer of one's own states none.
    digest = None
    if submission is None:
        if not is_run(Path(subject)):
            raise UsageError(
                f"{subject}: not the folder of a finished rollout, which has a result.json; of a task, name the answer "
                f"to score, too: openfingym published {subject} answer.npy"
            )
        result, submission = run_to_score(Path(subject))
        subject, digest = result.task, result.task_digest
    task = catalog.load_task(subject, real=real)
    score = score_answer(
        build(task),
        submission,
        truth,
        digest=digest,
        seed=seed,
        only=only,
        tell=lambda name: say(f"{name} ...", err=True),
    )
    if as_json:
        print_json(score.to_dict())
        return
    _print(score)


def _print(score: PublishedScore) -> None:
    right = ["here", "repeats", "real", "generated"]
    rows = [
        (
            value.metric,
            value.unit,
            _with_sd(value.mean, value.sd),
            value.repeats,
            value.real_windows,
            value.generated_windows,
            "\n".join(map(_stated, value.paper)) or "-",
        )
        for value in score.values
    ]
    print_table(
        f"{score.task} under {score.protocol}: NOT verified scores",
        ["metric", "unit", *right, "the paper's own"],
        rows,
        right=right,
        optional=["generated", "real", "repeats"],
    )
    say(f"paper: {score.paper}; {score.table}\ncode: {score.code}")
    places = list(dict.fromkeys(figure.place for value in score.values for figure in value.paper))
    for heading, lines in (
        ("do not set them beside the paper's without these differences:", score.differs),
        ("assumed, or done otherwise:", score.assumed),
        ("where the paper's own figures stand:", places or ["none were at hand"]),
    ):
        say("\n".join([heading, *(f"  - {line}" for line in lines)]))


def _with_sd(mean: float, sd: float | None) -> str:
    """A mean with its standard deviation, where there is one."""
    return number(mean) if sd is None else f"{number(mean)} ± {number(sd, 2)}"


def _stated(figure: PaperFigure) -> str:
    """A figure of the paper with its model."""
    return f"{figure.model}: {_with_sd(figure.mean, figure.sd)}"
