"""``openfingym questions lint`` and ``import``: questions of a user's own file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table
from openfingym.errors import OpenFinGymError

if TYPE_CHECKING:
    from openfingym_suites.imported.formats import ImportedQuestion

file_argument = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.command()
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
    from openfingym_suites.imported.formats import question_text, records_of, reference_of

    rows, errors, count = [], 0, 0
    for place, record in records_of(file):
        count += 1
        text = question_text(record)
        if not text.strip():
            rows.append({"place": place, "rule": "question", "severity": "error", "found": "", "advice": "no question"})
            errors += 1
            continue
        # Without a reference that can be read, the rules about the question's text still apply.
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
        say(f"{count} questions, {len(rows)} findings, {errors} errors")
    if errors:
        ctx.exit(1)


@click.command("import")
@file_argument
@click.option("--name", help="Name of the import and of its task; that of the file if nothing is said.")
@click.option("--tools", default="none", show_default=True, metavar="SUITE|none", help="Lend the tools of a suite.")
@click.option(
    "--to", type=click.Path(file_okay=False, path_type=Path), default=".", help="Folder in which the task's is made."
)
@json_option("an object")
def import_command(file: Path, name: str | None, tools: str, to: Path, as_json: bool) -> None:
    """Read the questions of FILE, and write a task that `openfingym run` plays.

    FILE is in our own form, or in one of the two in which FinSearchComp was published. Numbers and dates that can be
    read beyond doubt are decided by rule; other references are for `openfingym questions judge`.
    """
    from openfingym_suites.imported.formats import read_questions
    from openfingym_suites.imported.package import write_task
    from openfingym_suites.imported.suite import SUITE, keep, name_of

    imported = read_questions(file)
    chosen = name or name_of(file)
    # Whatever is wrong with name or tools is said before anything is written.
    SUITE.require(chosen, tools)
    folder = write_task((to / chosen).absolute(), chosen, imported, tools)
    # The questions with their answers go into the store, where the suite finds them by the name of the import.
    kept = keep(chosen, imported)
    count, by_rule = len(imported), _by_rule(imported)
    if as_json:
        print_json({"name": chosen, "questions": count, "by_rule": by_rule, "task": str(folder), "kept": str(kept)})
        return
    groups = Counter("/".join(question.reference.group) or "none" for question in imported)
    say(f"{count} questions ({', '.join(f'{group}: {size}' for group, size in sorted(groups.items()))})")
    say(f"{by_rule} have an answer that rules compare; {count - by_rule} are for a judge")
    say(f"play them: openfingym run {folder} --agent react --model MODEL")


def _by_rule(imported: tuple[ImportedQuestion, ...]) -> int:
    """The number of questions whose answers a rule can compare."""
    return sum(bool(question.reference.columns) for question in imported)
