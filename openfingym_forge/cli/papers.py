"""Commands of ``openfingym forge`` that work on papers: run, status, show and bench."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table
from openfingym.errors import UsageError
from openfingym_forge.cli.review import forge_argument

if TYPE_CHECKING:
    from openfingym_forge.blueprint import Blueprint, Stated
    from openfingym_forge.folder import ForgeSettings, KeptResult, PaperFolder
    from openfingym_forge.pipeline import Progress
    from openfingym_forge.stage import RejectionReason, StageResult


UPTO = ("screen", "read", "extract", "triage", "data", "rewards", "assemble", "prove", "install")
"""Names of the stages, in order; any of them may be the last one of a run."""


def _settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a forge: which model is asked, for how much, and where programs run."""
    options = [
        click.option("--reviewer", help="Model that reviews. Default: the one that writes."),
        click.option(
            "--base-url", default="", help="Address of the models' endpoint. Default: that of the environment."
        ),
        click.option(
            "--budget", type=click.FloatRange(min=0.0), help="US dollars that may be spent, over papers and runs."
        ),
        click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens that may be used, over papers and runs."),
        click.option(
            "--backend",
            default="sandbox",
            show_default=True,
            type=click.Choice(["docker", "sandbox", "inline"]),
            help="What the baselines of the proofs run in.",
        ),
        click.option(
            "--local-host",
            "local_hosts",
            multiple=True,
            metavar="HOST:PORT",
            help="A host with a private address from which data may be had nevertheless; HOST=ADDRESS:PORT for one "
            "that is served there.",
        ),
        click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Papers at once."),
        click.option(
            "--upto",
            default="install",
            show_default=True,
            type=click.Choice(UPTO),
            help="Last stage to do; docs/forge.md says what each does.",
        ),
    ]
    # In reverse, since click lists the option that was added last as the first one.
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("papers")
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the forge. One that is there is gone on with.",
)
@click.option("--model", required=True, help="Model that reads and writes; stand-in/forge is rules, offline.")
@_settings_options
@json_option("a list, an object a paper")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    papers: str,
    out: Path,
    jobs: int,
    upto: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Put PAPERS through the stages, and install what is proved.

    PAPERS is a file, a folder (PDF, HTML, LaTeX, text), or a query of arXiv that begins with `arxiv:`. Whatever was
    done before, by a run that ended or was killed, is not done again. The exit status is 4 where something failed that
    may go well the next time.
    """
    from openfingym_forge.folder import ForgeFolder
    from openfingym_forge.running import run_forge

    folder = ForgeFolder.begin(out, _settings(**settings))
    # Only the papers of this call: the folder may hold others from earlier ones.
    last: dict[str, Progress] = {}
    for progress in run_forge(folder, papers, jobs=jobs, upto=upto):
        last[progress.key] = progress
        if not as_json:
            _echo_progress(progress)
    # A paper with a file that cannot be read failed, and its folder does not say so.
    rows = [
        _status(folder.paper(key)) if progress.is_kept else _row(key, progress.kept.result)
        for key, progress in sorted(last.items())
    ]
    if as_json:
        print_json(rows)
    else:
        _echo_status(rows)
        say(f"installed tasks: {folder.tasks}")
    if any(row["state"] == "failed" for row in rows):
        ctx.exit(4)


@click.command()
@forge_argument
@json_option("a list, an object a paper")
def status(forge: Path, as_json: bool) -> None:
    """List the papers of a FORGE: how far each came, and why it ended there."""
    from openfingym_forge.folder import ForgeFolder

    papers = ForgeFolder.open(forge).papers()
    rows = [_status(paper) for paper in papers]
    if as_json:
        print_json(rows)
        return
    _echo_status(rows)


@click.command()
@forge_argument
@click.argument("paper")
@json_option("an object")
def show(forge: Path, paper: str, as_json: bool) -> None:
    """Show what each stage found of one PAPER of a FORGE, and its blueprint with the paper's own words.

    PAPER is a key that `openfingym forge status` lists, or the beginning of one.
    """
    from openfingym_forge.blueprint_file import read_blueprint
    from openfingym_forge.folder import ForgeFolder

    folder = ForgeFolder.open(forge).find(paper)
    results = folder.results()
    blueprint = read_blueprint(folder.blueprint_path) if folder.blueprint_path.exists() else None
    harvested = folder.paper() if folder.has_paper else None
    if as_json:
        print_json(
            {
                "paper": folder.key,
                "title": harvested.title if harvested else "",
                "origin": harvested.origin if harvested else "",
                "stages": [_stage(kept) for kept in results],
                "blueprint": blueprint.model_dump(mode="json") if blueprint else None,
            }
        )
        return
    say(f"{folder.key}: {harvested.title if harvested else 'could not be read'}")
    rows = [[kept.result.stage, kept.result.state, f"{kept.seconds:.1f}"] for kept in results]
    print_table("Stages", ["stage", "state", "seconds"], rows)
    for kept in results:
        for reason in (*kept.result.reasons, *kept.result.notes):
            _echo_reason(kept.result.stage, reason)
    if blueprint is not None:
        _echo_blueprint(blueprint)


@click.command()
@click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    help="Model that reads and writes; several are set side by side. stand-in/forge is rules, offline.",
)
@click.option(
    "--corpus",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of papers. Default: a dozen small ones that the library brings, written for this.",
)
@click.option(
    "--key",
    type=click.Path(exists=True, path_type=Path),
    help="What should be found in them: a TOML file, or a folder that holds KEY.toml. Needed with --corpus.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the forges here, one a model, and go on with what is there. Default: none is kept.",
)
@_settings_options
@json_option("a list, an object a model")
@click.pass_context
def bench(
    ctx: click.Context,
    /,
    models: tuple[str, ...],
    corpus: Path | None,
    key: Path | None,
    out: Path | None,
    jobs: int,
    upto: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Measure how well a model turns papers into tasks.

    A forge is run over a corpus whose answer key is known, from papers to installed tasks: right and wrong fields,
    tasks made and refused, faults let through, tokens and money. The exit status is 1 where a paper that should have
    been refused became a task, and 4 where something failed that may go well the next time.
    """
    from openfingym_forge.bench import BenchCorpus, run_bench, shipped_corpus, side_by_side

    if (corpus is None) != (key is None):
        raise UsageError("--corpus and --key go together: the papers, and what should be found in them")
    papers = shipped_corpus() if corpus is None or key is None else BenchCorpus(corpus, key)
    silent = as_json or len(models) > 1
    with _kept_or_temporary(out) as root:
        results = [
            run_bench(
                _settings(model=model, **settings),
                papers,
                # Names of models have slashes and colons, which a folder's name must not have.
                root / re.sub(r"[^\w.-]+", "-", model),
                jobs=jobs,
                upto=upto,
                on_progress=(lambda _: None) if silent else _echo_progress,
            )
            for model in models
        ]
    if as_json:
        print_json([result.as_json() for result in results])
    else:
        say(side_by_side(results))
    figures = [result.figures() for result in results]
    # A faulty task is worse than a failure, which may go well the next time.
    if any(row["let through"] for row in figures):
        ctx.exit(1)
    if any(row["failed"] for row in figures):
        ctx.exit(4)


@contextlib.contextmanager
def _kept_or_temporary(folder: Path | None) -> Iterator[Path]:
    """The folder, or, where there is none, a temporary one that is removed at the end of the block."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="openfingym-forge-") as temporary:
        yield Path(temporary)


def _settings(
    model: str,
    reviewer: str | None,
    base_url: str,
    budget: float | None,
    max_tokens: int | None,
    backend: str,
    local_hosts: tuple[str, ...],
) -> ForgeSettings:
    from openfingym_forge.folder import ForgeSettings

    return ForgeSettings(
        model,
        reviewer or model,
        base_url,
        backend=backend,
        local_hosts=local_hosts,
        budget_usd=budget,
        budget_tokens=max_tokens,
    )


def _echo_progress(progress: Progress) -> None:
    result = progress.kept.result
    why = ", ".join(reason.code for reason in result.reasons)
    say(f"{progress.key}: {result.state} at {result.stage}" + (f" ({why})" if why else ""))
    if not progress.is_kept:
        for reason in result.reasons:
            say(f"    {reason.text}")


def _status(paper: PaperFolder) -> dict[str, object]:
    """How far a paper came, and why it ended there, as plain values."""
    from openfingym_forge.folder import UnreadableRecordError

    try:
        results = paper.results()
    # One damaged record must not hide how the other papers ended.
    except UnreadableRecordError as error:
        return {"paper": paper.key, "stage": "", "state": "failed", "why": str(error)}
    if not results:
        return {"paper": paper.key, "stage": "", "state": "waiting", "why": ""}
    return _row(paper.key, results[-1].result)


def _row(key: str, result: StageResult) -> dict[str, object]:
    """A paper's last result, as plain values."""
    codes = ", ".join(reason.code for reason in result.reasons)
    return {"paper": key, "stage": result.stage, "state": result.state, "why": codes}


def _echo_status(rows: list[dict[str, object]]) -> None:
    columns = ["paper", "stage", "state", "why"]
    print_table("Papers", columns, [[str(row[column]) for column in columns] for row in rows])
    counts = Counter(str(row["state"]) for row in rows)
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    say(f"{len(rows)} {'paper' if len(rows) == 1 else 'papers'}: {states}")


def _stage(kept: KeptResult) -> dict[str, object]:
    result = kept.result
    return {
        "stage": result.stage,
        "state": result.state,
        "seconds": kept.seconds,
        "reasons": [_plain(reason) for reason in result.reasons],
        "notes": [_plain(reason) for reason in result.notes],
        "facts": dict(result.facts),
        "files": list(result.files),
    }


def _plain(reason: RejectionReason) -> dict[str, object]:
    return asdict(reason) | {"quotations": [quotation.model_dump() for quotation in reason.quotations]}


def _echo_reason(stage: str, reason: RejectionReason) -> None:
    say(f"{stage}: {reason.code}: {reason.text}")
    for quotation in reason.quotations:
        say(f'    "{quotation.quote}" ({quotation.section or "before the first section"})')


def _echo_blueprint(blueprint: Blueprint) -> None:
    rows = [[name, str(stated.value), _ground(stated)] for name, stated in blueprint.fields.items()]
    rows += [[f"metric {metric.name}", metric.bank or "-", _ground(metric.formula)] for metric in blueprint.metrics]
    print_table("Blueprint", ["field", "value", "rests on"], rows)
    for contradiction in blueprint.contradictions:
        say(f"contradiction in {contradiction.field}: {contradiction.why}")


def _ground(stated: Stated) -> str:
    """What a field of a blueprint rests on: the reason why it was assumed, or quotations of the paper."""
    if stated.assumed:
        return f"assumed: {stated.assumed}"
    return "; ".join(f'"{quotation.quote}" ({quotation.section})' for quotation in stated.quotations)
