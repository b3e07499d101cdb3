"""``openfingym questions ...``: looking at questions of suites, and judging answers that no rule decides."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.plugin_groups import OpenGroup
from openfingym.cli.printable import say
from openfingym.cli.questions_list import list_command, prove_command, show_command
from openfingym.cli.render import print_json, print_table

if TYPE_CHECKING:
    from openfingym.judging.judged_run import JudgedAnswer


@click.group(cls=OpenGroup)
def questions() -> None:
    """Look at questions of suites, lint and import your own, and let a model judge what no rule can decide."""


for _command in (list_command, show_command, prove_command):
    questions.add_command(_command)


@questions.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--model", required=True, help="Model that judges; stand-in/competent needs no key, and is no judge.")
@click.option("--base-url", help="Its OpenAI-compatible endpoint; default: $OPENAI_BASE_URL.")
@click.option("--repeats", type=click.IntRange(1, 9), default=1, show_default=True, help="Judgements of each answer.")
@click.option(
    "--sample", type=click.IntRange(0), default=20, show_default=True, help="Answers decided by rule to judge as well."
)
@click.option("--no-control", is_flag=True, help="Do not judge against a wrong truth what was found right.")
@click.option("--replies", is_flag=True, help="Keep the judge's replies, which may tell the truth.")
@click.option("--limit", type=click.IntRange(1), help="Judge at most so many of the answers that are undecided.")
@json_option("an object")
def judge(
    run: Path,
    model: str,
    base_url: str | None,
    repeats: int,
    sample: int,
    no_control: bool,
    replies: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Have a model judge the answers of RUN that no rule could decide, by the published protocols.

    For the operator of the machine on which the truths lie. Verified scores stay as they are, by rule alone: what the
    judge says is written to RUN/judgements.jsonl, and shown apart. A reply that cannot be read is asked for again, and
    is a judge-error in the end, never a 0. An answer that speaks to the judge scores 0.
    """
    import asyncio

    from openfingym.files.whole import store_errors, whole_file
    from openfingym.judging.judge import Judge
    from openfingym.judging.judged_run import judge_run, summary
    from openfingym.judging.recorded import recorded_answers
    from openfingym.models import ModelSpec

    spec = ModelSpec.parse(model, base_url=base_url)
    answers = recorded_answers(run)

    async def ask() -> list[JudgedAnswer]:
        async with spec.open() as opened:
            asked = Judge(opened, repeats=repeats, control=not no_control)
            return await judge_run(asked, answers, sample=sample, limit=limit)

    judged = asyncio.run(ask())
    path = run / "judgements.jsonl"
    with store_errors(path), whole_file(path) as stream:
        stream.writelines(json.dumps(answer.to_json(replies=replies), ensure_ascii=False) + "\n" for answer in judged)
    values = asdict(summary(judged))
    if as_json:
        print_json({"model": spec.name, **values})
        return
    rows = [[name.replace("_", " "), _shown(value)] for name, value in values.items()]
    print_table("Judged", ["what", "value"], rows)
    say(f"details: {path}")


def _shown(value: object) -> str:
    """A value of a summary for people."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"
    return "not known" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
