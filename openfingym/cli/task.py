"""``openfingym tasks`` and ``openfingym task ...``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.choices import BACKENDS, FAMILIES
from openfingym.cli.completion import complete_task
from openfingym.cli.options import instance_option, json_option, real_option, split_option
from openfingym.cli.printable import say, say_oddities
from openfingym.cli.render import Counter, TerminalProgress, print_json, print_table
from openfingym.cli.task_new import new
from openfingym.errors import TaskError, UsageError

if TYPE_CHECKING:
    from openfingym.adversarial.pooled import Pooled
    from openfingym.packages.many import TaskOutcome
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import SplitName
    from openfingym.task.exposure import Conflict, Exposure


@click.command("tasks")
@click.option("--family", type=click.Choice(FAMILIES), help="Only this family.")
@json_option("a list, an object a task")
@click.pass_context
def list_tasks(ctx: click.Context, family: str | None, as_json: bool) -> None:
    """List the known tasks.

    One that is malformed is named on stderr, with the reason; the rest is listed, and the exit status is 5.
    """
    from openfingym import catalog
    from openfingym.held_out import exposures
    from openfingym.task.exposure import conflicts, group_of

    known, faults = catalog.survey()
    rows = [row for row in known if family is None or row.family == family]
    found = exposures(row.name for row in known)
    met = conflicts(found)
    if as_json:
        print_json([row.to_dict() | _exposed(row.name, found[row.name], met) for row in rows])
    else:
        print_table(
            "",
            ["task", "family", "data", "asset class", "frequency", "panel"],
            [(r.name, r.family, r.data_kind, r.asset_class, r.frequency, r.panel) for r in rows],
            optional=["frequency", "asset class"],
        )
        for row in rows:
            if others := [name for name in group_of(row.name, met) if name != row.name]:
                say(f"{row.name} conflicts with {', '.join(others)}")
            if found[row.name] is None:
                say(f"{row.name}: which tasks it conflicts with is not known")
        say(f"{len(rows)} tasks; shapes, metrics and sources: --json, or openfingym task show NAME")
    for name, fault in faults.items():
        say(f"error: {name}: {fault}", err=True)
    if faults:
        ctx.exit(TaskError.exit_code)


def _exposed(name: str, exposure: Exposure | None, met: list[Conflict]) -> dict[str, object]:
    """What a task shows and hides, and the tasks that it conflicts with, with the reason; None where that is not
    known.
    """
    if exposure is None:
        return {"exposure": None, "conflicts": None}
    others = {other: str(one) for one in met if name in one.tasks for other in one.tasks if other != name}
    return {"exposure": exposure.to_dict(), "conflicts": others}


@click.group()
def task() -> None:
    """Show, build, check or scaffold a task package.

    TASK is a name from `openfingym tasks`, or the path of a task folder.
    """


task.add_command(list_tasks, "list")


@task.command()
@click.argument("name", metavar="TASK", shell_complete=complete_task)
@real_option
@split_option
@instance_option
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a page for the task's author: plots of what is public and what is hidden. No agent may see it.",
)
@json_option("an object")
def show(
    name: str, real: bool, split: SplitName | None, instance: int | None, html: Path | None, as_json: bool
) -> None:
    """Show what a task asks, how it is scored and where its data comes from.

    With --split and --instance: what an agent is told of that instance.
    """
    from openfingym import catalog
    from openfingym.cli.real_data import real_data
    from openfingym.instances import Instances, place_of
    from openfingym.packages.build import build
    from openfingym.task.published_sizes import split_beside_published

    # Built first: instruction, sizes and digest are the package's.
    loaded = catalog.load_task(name, real=real)
    built = build(loaded)
    if (place := place_of(split or "test", instance)) is not None:
        if html is not None:
            raise UsageError("--html draws a task as it is; leave out --split, or --html")
        with Instances() as instances, instances.hold(built, *place) as seen:
            _show_instance(seen, as_json=as_json)
        return
    manifest = built.manifest
    if html is not None:
        from openfingym.kinds import kind_of
        from openfingym.reports.task_page import render, write_private

        write_private(html, render(built, kind_of(loaded).oddities(loaded)))
    if as_json:
        print_json(
            {
                **catalog.describe(loaded).to_dict(),
                "digest": manifest.digest,
                "n_train": manifest.n_train,
                "n_public": manifest.n_public,
                "n_private": manifest.n_private,
                "submission_shape": list(manifest.submission_shape),
                "recipe": built.contract["recipe"],
                "package": str(built.public),
                "spec": loaded.spec.model_dump(mode="json"),
            }
        )
        return
    say(built.read_instruction().rstrip())
    provenance = loaded.spec.provenance
    say("\n## For the person who runs it\n")
    rows = [
        ("digest", manifest.digest),
        ("package", str(built.public)),
        ("dataset", f"{manifest.dataset} ({manifest.data_kind}), sha256 {manifest.dataset_digest[:16]}"),
        ("real data", real_data(loaded)),
        *((f"step {n}", step) for n, step in enumerate(built.contract["recipe"], 1)),
        ("items", f"{manifest.n_train} train, {manifest.n_public} public, {manifest.n_private} private"),
        ("paper", provenance.paper),
        ("catalogue row", provenance.catalogue_id or "-"),
        ("sizes", split_beside_published(provenance.catalogue_id, loaded.spec.split) or "-"),
        ("note", provenance.note or "-"),
        *(("waiver", f"{waiver.finding} in {waiver.file}: {waiver.reason}") for waiver in loaded.spec.waivers),
    ]
    for key, value in rows:
        say(f"{key:>14}  {value}")
    if html is not None:
        say(f"\nwrote {html.absolute()}, which holds hidden values: do not give it to an agent")


def _show_instance(seen: BuiltPackage, *, as_json: bool) -> None:
    """Print what an agent is told of an instance: its instruction, or as JSON its contract."""
    if as_json:
        print_json({**seen.contract, "digest": seen.manifest.digest, "instruction": seen.read_instruction()})
        return
    say(seen.read_instruction().rstrip())
    manifest = seen.manifest
    say(f"\n        digest  {manifest.digest}")
    say(f"         items  {manifest.n_train} train, {manifest.n_public} public, {manifest.n_private} private")


jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes at once. Default: one a core, at most 4."
)


@task.command("build")
@click.argument("names", metavar="[TASK]...", nargs=-1, shell_complete=complete_task)
@click.option("--all", "everything", is_flag=True, help="Build every known task.")
@click.option("--force", is_flag=True, help="Build again even where the store has it.")
@jobs_option
@real_option
@json_option("a list, an object a task, also of one")
@click.pass_context
def build_command(
    ctx: click.Context,
    names: tuple[str, ...],
    everything: bool,
    force: bool,
    jobs: int | None,
    real: bool,
    as_json: bool,
) -> None:
    """Materialise task packages into the store, several at once."""
    from dataclasses import asdict

    from openfingym.packages.many import build_tasks, default_jobs

    folders = _folders(names, everything, "build")
    rows, failed = {}, []
    with Counter(len(folders), quiet=not as_json) as count:
        for outcome in build_tasks(folders, jobs=jobs or default_jobs(), force=force, real=real):
            count(outcome.name)
            if outcome.value is None:
                failed.append(outcome)
                continue
            rows[outcome.name] = asdict(outcome.value)
            if not as_json:
                say(f"{outcome.value.task}  {outcome.value.digest[:16]}  {outcome.value.package}")
    # Of a single task that failed, the error is printed as JSON, and there is no list beside it.
    if as_json and (rows or len(folders) > 1):
        print_json([rows[folder.name] for folder in folders if folder.name in rows])
    _fail(ctx, failed, alone=len(folders) == 1)


@task.command()
@click.argument("names", metavar="[TASK]...", nargs=-1, shell_complete=complete_task)
@click.option("--all", "everything", is_flag=True, help="Check every known task, or every task of --folder.")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --all: the tasks of this folder alone, one a folder in it.",
)
@click.option(
    "--smoke",
    type=click.Choice(BACKENDS),
    help="Also run the naive program and one that does nothing through this backend.",
)
@click.option(
    "--adversarial", is_flag=True, help="Also score answers without skill: none may be better than the baseline."
)
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --adversarial: keep what such answers reach in this file, beside what it holds of other tasks.",
)
@jobs_option
@real_option
@json_option("a list, an object a task, also of one")
@click.pass_context
def check(
    ctx: click.Context,
    names: tuple[str, ...],
    everything: bool,
    folder: Path | None,
    smoke: str | None,
    adversarial: bool,
    record: Path | None,
    jobs: int | None,
    real: bool,
    as_json: bool,
) -> None:
    """Prove that a task is sound: structure, contract, determinism, no leak, best and worst agents in order."""
    from openfingym.checks.many import check_tasks
    from openfingym.packages.many import default_jobs

    if record is not None and not adversarial:
        raise click.UsageError("--record keeps what --adversarial finds; give both")
    if record is not None and real:
        raise click.UsageError("--record keeps what is reached on the data that come with a task; leave out --real")
    if folder is not None and not everything:
        raise click.UsageError("--folder goes with --all; or name the tasks to check by their paths")
    folders = _folders(names, everything, "check") if folder is None else _folders_in(folder, names)
    reports, failed = {}, []
    # Of one task, what is being done; of several, how many are done.
    alone = len(folders) == 1
    with TerminalProgress(enabled=alone, lines=True) as show, Counter(len(folders), quiet=not as_json) as count:
        checked = check_tasks(
            folders,
            jobs=jobs or default_jobs(),
            real=real,
            backend=smoke,
            adversarial=adversarial,
            # A record holds scores on the whole private fold, where a check is content with a sample of it.
            on_all=record is not None,
            progress=lambda doing: show(f"{folders[0].name}: {doing}"),
        )
        for outcome in checked:
            count(outcome.name)
            if outcome.value is None:
                failed.append(outcome)
                continue
            reports[outcome.name] = outcome.value
            if not as_json and not alone:
                _print_report(outcome.value)
    # After the spinner has gone.
    for report in reports.values() if alone and not as_json else ():
        _print_report(report)
    if record is not None:
        _keep(record, reports.values())
    together = _together(reports.values())
    if as_json and (reports or len(folders) > 1):
        print_json([reports[folder.name] for folder in folders if folder.name in reports])
    unsound = [name for name, report in reports.items() if not report["passed"]]
    if not as_json and len(folders) > 1:
        say(
            f"{len(reports) - len(unsound)} of {len(folders)} tasks passed"
            + (f"; not {', '.join(sorted(unsound))}" if unsound else "")
        )
    for skillless in together:
        say(f"FAIL  skill: an answer without skill is better than the baseline: {skillless}", err=as_json)
    _fail(ctx, failed, alone=len(folders) == 1)
    if unsound or together:
        ctx.exit(5)


def _folders(names: tuple[str, ...], everything: bool, verb: str) -> list[Path]:
    """Folders of the tasks that a command is given.

    Args:
        names: names or folders of the tasks.
        everything: whether every known task is meant.
        verb: verb of the command, for the message.

    Raises:
        UsageError: neither names nor --all are given, or both.
        TaskNotFoundError: there is no such task.
    """
    from openfingym import catalog

    if bool(names) == everything:
        raise click.UsageError(f"name the tasks to {verb}, or give --all")
    if everything:
        return list(catalog.task_folders().values())
    return [catalog.load_task(name).folder for name in dict.fromkeys(names)]


def _folders_in(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Folders of the tasks in a folder, sorted by name.

    Raises:
        UsageError: tasks are named too, or the folder has none.
    """
    if names:
        raise click.UsageError("name the tasks to check, or give --all with --folder, not both")
    folders = sorted(path.parent for path in folder.glob("[!.]*/task.toml"))
    if not folders:
        raise UsageError(f"{folder}: no task there; a task is a folder in it with a task.toml")
    return folders


def _together(reports: Iterable[Mapping[str, object]]) -> list[Pooled]:
    """Answers without skill that are better than the baseline over all the tasks checked, beyond chance.

    On one task such an answer may win by luck; over many tasks it may not.

    Args:
        reports: reports of the checks, as plain values.
    """
    from openfingym.adversarial.pooled import SkilllessOutcome, pooled

    stated = (outcome for report in reports for outcome in report.get("outcomes", ()))  # type: ignore[attr-defined]
    outcomes = [SkilllessOutcome(**outcome) for outcome in stated]
    return [answer for answer in pooled(outcomes) if answer.breaks]


def _keep(path: Path, reports: Iterable[Mapping[str, object]]) -> None:
    """Write what answers without skill reach into a record, whose rows of other tasks stay."""
    from openfingym.adversarial import record

    rows = {row.task: row for row in record.recorded(path)} if path.is_file() else {}
    for report in reports:
        if "skillless" in report:
            row = record.Reached(**report["skillless"])  # type: ignore[arg-type]  # a record, as plain values
            rows[row.task] = row
    record.record(rows.values(), path)


def _print_report(report: Mapping[str, object]) -> None:
    say(str(report["task"]))
    for finding in report["findings"]:  # type: ignore[attr-defined]  # a list of findings, as plain values
        say(f"  {'ok  ' if finding['passed'] else 'FAIL'}  {finding['name']:<14} {finding['detail']}")
    say_oddities(report["odd"])  # type: ignore[arg-type]  # a list of sentences


def _fail(ctx: click.Context, failed: Sequence[TaskOutcome[Any]], *, alone: bool) -> None:
    """Print what failed, and exit with the status of the first failure.

    Args:
        ctx: click's context of the command.
        failed: outcomes of the tasks that failed.
        alone: whether the command was given a single task, whose error is then the command's own.
    """
    errors = [(outcome.name, outcome.error) for outcome in failed if outcome.error is not None]
    if alone and errors:
        raise errors[0][1]
    for name, error in errors:
        say(f"error: {name}: {error}", err=True)
    if errors:
        ctx.exit(errors[0][1].exit_code)


task.add_command(new)
