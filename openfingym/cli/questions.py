"""``openfingym questions ...``: questions of suites and of a user's own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.render import print_json, print_table
from openfingym.cli.task import json_option
from openfingym.errors import OpenFinGymError

if TYPE_CHECKING:
    from openfingym.suites.imported.formats import ImportedQuestion

file_argument = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.group()
def questions() -> None:
    """Lint and import questions of your own, and let a model judge what no rule can decide."""


@questions.command()
@file_argument
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@json_option("a list, an object a finding")
@click.pass_context
def lint(ctx: click.Context, file: Path, strict: bool, as_json: bool) -> None:
    """Look for ambiguity in the questions of FILE, by the eleven rules of the guide.

    FILE is JSON Lines or a JSON list of records with a `question`, `QUESTION` or `prompt`; answers are optional. The
    exit status is 1 where a rule found an error.
    """
    from openfingym.answers.guide import lint as linted
    from openfingym.suites.imported.formats import question_text, records_of, reference_of

    rows, errors, count = [], 0, 0
    for place, record in records_of(file):
        count += 1
        text = question_text(record)
        if not text.strip():
            rows.append({"place": place, "rule": "question", "severity": "error", "found": "", "advice": "no question"})
            errors += 1
            continue
        try:
            reference = reference_of(record)
        except (OpenFinGymError, ValueError, TypeError, KeyError):
            reference = None
        for finding in linted(text, reference):
            rows.append({"place": place, **finding._asdict()})
            errors += finding.severity == "error" or strict
    if as_json:
        print_json(rows)
    else:
        columns = ["place", "rule", "severity", "found", "advice"]
        if rows:
            print_table("Findings", columns, [[str(row[column]) for column in columns] for row in rows])
        click.echo(f"{count} questions, {len(rows)} findings, {errors} errors")
    if errors:
        ctx.exit(1)


@questions.command("import")
@file_argument
@click.option("--name", help="Name of the import and of its task; that of the file if nothing is said.")
@click.option("--tools", default="none", show_default=True, metavar="SUITE|none", help="Lend the tools of a suite.")
@click.option(
    "--to", type=click.Path(file_okay=False, path_type=Path), help="Folder of the task; ./NAME if nothing is said."
)
@json_option("an object")
def import_command(file: Path, name: str | None, tools: str, to: Path | None, as_json: bool) -> None:
    """Read the questions of FILE, and write a task that `openfingym run` plays.

    FILE is in our own form, or in one of the two in which FinSearchComp was published. Numbers and dates that can be
    read beyond doubt are decided by rule; other references are for `openfingym questions judge`.
    """
    from openfingym.suites.imported.formats import read_questions
    from openfingym.suites.imported.package import write_task
    from openfingym.suites.imported.suite import SUITE, keep, name_of

    found = read_questions(file)
    chosen = name or name_of(file)
    SUITE.require(chosen, tools)
    folder = write_task((to or Path(chosen)).absolute(), chosen, found, tools)
    kept = keep(chosen, found)
    told = {"name": chosen, "questions": len(found), "by_rule": _by_rule(found), "task": str(folder), "kept": str(kept)}
    if as_json:
        print_json(told)
        return
    groups = Counter("/".join(one.reference.group) or "none" for one in found)
    click.echo(f"{len(found)} questions ({', '.join(f'{group}: {count}' for group, count in sorted(groups.items()))})")
    click.echo(f"{told['by_rule']} have an answer that rules compare; {len(found) - _by_rule(found)} are for a judge")
    click.echo(f"play them: openfingym run {folder} --agent react --model MODEL")


def _by_rule(found: tuple[ImportedQuestion, ...]) -> int:
    return sum(bool(one.reference.columns) for one in found)
