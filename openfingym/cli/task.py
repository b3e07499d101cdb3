"""``openfingym tasks`` and ``openfingym task ...``."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from openfingym.cli.render import print_json, print_table

FAMILIES = ("forecasting", "generation", "trading", "fraud")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("tasks")
@click.option("--family", type=click.Choice(FAMILIES), help="Only this family.")
@json_option
def list_tasks(family: str | None, as_json: bool) -> None:
    """List the known tasks."""
    from openfingym import catalog
    from openfingym.task import Family

    assert get_args(Family) == FAMILIES
    rows = catalog.tasks(family)  # type: ignore[arg-type]  # click has checked the choice
    if as_json:
        print_json([row.to_dict() for row in rows])
        return
    print_table(
        "",
        ["task", "family", "asset class", "frequency", "data", "lookback", "horizon", "channels", "description"],
        [(r.name, r.family, r.asset_class, r.frequency, r.data_kind, r.lookback, r.horizon, r.channels, r.description) for r in rows],
        right=["lookback", "horizon", "channels"],
    )


@click.group()
def task() -> None:
    """Show, build, check or scaffold a task package.

    TASK is a name from `openfingym tasks`, or the path of a task folder.
    """


task.add_command(list_tasks, "list")


@task.command()
@click.argument("name", metavar="TASK")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show what a task asks, how it is scored and where its data comes from."""
    from openfingym import catalog
    from openfingym.build import build

    loaded = catalog.load_task(name)
    built = build(loaded)
    manifest = built.manifest
    if as_json:
        print_json(
            {
                **catalog.describe(loaded).to_dict(),
                "digest": manifest.digest,
                "n_train": manifest.n_train,
                "n_public": manifest.n_public,
                "n_private": manifest.n_private,
                "submission_shape": list(manifest.submission_shape),
                "package": str(built.public),
                "spec": loaded.spec.model_dump(mode="json"),
            }
        )
        return
    click.echo(built.instruction.read_text(encoding="utf-8").rstrip())
    split, provenance = loaded.spec.split, loaded.spec.provenance
    click.echo("\n## For the person who runs it\n")
    rows = [
        ("digest", manifest.digest),
        ("package", str(built.public)),
        ("dataset", f"{manifest.dataset} ({manifest.data_kind}), sha256 {manifest.dataset_digest[:16]}"),
        (
            "split",
            f"train {split.train:.0%}, public fold {split.public:.0%}, private fold {split.private:.0%}, embargo {split.embargo} rows",
        ),
        ("windows", f"{manifest.n_train} train, {manifest.n_public} public, {manifest.n_private} private"),
        ("paper", provenance.paper),
        ("catalogue row", provenance.catalogue_id or "-"),
        ("note", provenance.note or "-"),
    ]
    for key, value in rows:
        click.echo(f"{key:>14}  {value}")


@task.command("build")
@click.argument("names", metavar="TASK...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Build again even where the store has it.")
@json_option
def build_command(names: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Materialise task packages into the store."""
    from openfingym import catalog
    from openfingym.build import build

    built = [build(catalog.load_task(name), force=force) for name in names]
    rows = [{"task": b.manifest.name, "digest": b.manifest.digest, "package": str(b.public)} for b in built]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['task']}  {row['digest'][:16]}  {row['package']}")


@task.command()
@click.argument("names", metavar="[TASK]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Check every known task.")
@json_option
@click.pass_context
def check(ctx: click.Context, names: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Prove that a task is sound: structure, contract, determinism, no leak, best and worst agents in order."""
    from openfingym import catalog
    from openfingym.check import check_task

    if bool(names) == everything:
        raise click.UsageError("name the tasks to check, or give --all")
    reports = []
    for name in names or tuple(catalog.task_folders()):
        report = check_task(catalog.load_task(name))
        reports.append(report)
        if not as_json:
            click.echo(f"{report.task}")
            for finding in report.findings:
                click.echo(f"  {'ok  ' if finding.passed else 'FAIL'}  {finding.name:<14} {finding.detail}")
    if as_json:
        print_json([report.to_dict() for report in reports])
    if not all(report.passed for report in reports):
        ctx.exit(5)


@task.command()
@click.argument("name", metavar="NAME")
@click.option("--to", "parent", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Folder to create it in.")
def new(name: str, parent: Path) -> None:
    """Scaffold a task package that passes `task check` as it is."""
    from openfingym.scaffold import new_task

    folder = new_task(name, parent)
    click.echo(f"wrote {folder}\nnext: openfingym task check {folder}")
