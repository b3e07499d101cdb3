"""``openfingym report ...``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.shell_completion import CompletionItem

from openfingym.cli.choices import REPORTED_BY
from openfingym.cli.options import json_option
from openfingym.cli.printable import one_line, say
from openfingym.cli.receipt import read_key
from openfingym.cli.render import TerminalProgress, print_json, print_table
from openfingym.cli.report_baselines import baselines
from openfingym.errors import UsageError
from openfingym.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.reports.groups import Field
    from openfingym.reports.report import Report
    from openfingym.reports.text_table import TextTable
    from openfingym.results import RolloutResult

LONGEST = 1000
"""The most characters of a name or sentence that are shown."""


class _ComparesFolders(click.Group):
    """A group that takes folders of runs directly: what is no subcommand goes to ``compare``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # A folder named like a subcommand is given as ./NAME.
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["compare", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="dir")]


@click.group(cls=_ComparesFolders, subcommand_metavar="RUN... | COMMAND [ARGS]...")
def report() -> None:
    """Compare finished runs; what the baselines get on every task, and what a trading run did.

    `openfingym report runs/t4` is `openfingym report compare runs/t4`, whose help has the options.
    """


@report.command()
@click.argument(
    "folders", metavar="RUN...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a self-contained page with plots.")
@click.option(
    "--pages", is_flag=True, help="With --html: write a page of each run too, into a folder beside it, and link them."
)
@click.option(
    "--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures of every row and family."
)
@click.option(
    "--by",
    type=click.Choice(REPORTED_BY),
    multiple=True,
    default=("agent", "model"),
    show_default=True,
    help="What makes a row; repeat for several.",
)
@click.option("--tasks", "each_task", is_flag=True, help="Print every task too.")
@click.option("--latex", is_flag=True, help="Print tables for a paper in LaTeX, which need the package booktabs.")
@click.option("--markdown", is_flag=True, help="Print tables in Markdown.")
@click.option(
    "--cutoff",
    "cutoffs",
    metavar="MODEL=MONTH",
    multiple=True,
    help="The last month that a model was trained on, such as gpt-4o-mini=2023-10, where its runs state none.",
)
@click.option(
    "--with-hidden",
    is_flag=True,
    help="Of questions: compute with the hidden answers what their verifier told nobody; for its operator.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    help="The public key of a log, or a file with it: its receipts back runs as those by keys that this machine knows "
    "do; repeatable.",
)
@click.option(
    "--isolated-only",
    is_flag=True,
    help="Leave out runs of which something ran outside isolation, or may have, as whoever launched them states it.",
)
@json_option("an object")
def compare(
    folders: tuple[Path, ...],
    html: Path | None,
    pages: bool,
    csv: Path | None,
    by: tuple[str, ...],
    each_task: bool,
    cutoffs: tuple[str, ...],
    latex: bool,
    markdown: bool,
    with_hidden: bool,
    keys: tuple[str, ...],
    isolated_only: bool,
    as_json: bool,
) -> None:
    """Compare finished runs: skill with intervals, success, cost, and who is better.

    RUN is a run's folder, or one with runs anywhere below it. Real and simulated data never share a figure; a failure
    of ours is counted, and is in none. A damaged run, as one that its own receipt contradicts, is named; where all
    are, the exit status is 2.
    """
    from openfingym.reports.report import make_report
    from openfingym.reports.runs import find_runs

    stated = _cutoffs(cutoffs)
    if latex + markdown + as_json > 1:
        raise UsageError("--latex, --markdown and --json are forms of one output; give one of them")
    if pages and html is None:
        raise UsageError("--pages goes with --html, whose page links to them; give both")
    with TerminalProgress(enabled=not (latex or markdown or as_json)) as show:
        show("reading runs")
        runs = find_runs(folders, [read_key(key) for key in keys], isolated_only=isolated_only)
        if not runs.results:
            more = f", and {len(runs.damaged) - 1:,} more" if len(runs.damaged) > 1 else ""
            raise UsageError(
                f"no run can be read: {runs.damaged[0].reason}{more}; give a folder with whole runs, or run them again"
            )
        show(f"comparing {len(runs.results):,} runs")
        made = make_report(runs, cast("tuple[Field, ...]", by), cutoffs=stated, with_hidden=with_hidden)
        if csv is not None:
            _write(csv, made.to_csv())
        if html is not None:
            from openfingym.reports.html import render

            addresses = _write_run_pages(html, runs.results, show) if pages else []
            _write(html, render(made, runs.results, addresses))
    if as_json:
        print_json(made.to_dict())
        return
    if latex or markdown:
        say(made.to_latex(each_task=each_task) if latex else made.to_markdown(each_task=each_task), nl=False)
        return
    _show_report(made, each_task=each_task)
    for path in (csv, html):
        if path is not None:
            say(path.absolute())


def _write_run_pages(html: Path, runs: Sequence[RolloutResult], show: TerminalProgress) -> list[str]:
    """Write the page of each run into a folder beside a report.

    Args:
        html: file of the report.
        runs: results of the runs, with their folders.
        show: shows the progress.

    Returns:
        The addresses of the pages relative to the report, in the order of ``runs``.
    """
    from urllib.parse import quote

    from openfingym.reports.rollout.pages import page_names, write_each

    folder, names = html.with_name(f"{html.stem}-pages"), page_names(runs)
    with_folders = [(run.path, run) for run in runs if run.path is not None]
    assert len(with_folders) == len(names), "what was read has a folder"
    write_each(folder, with_folders, names, f"../{quote(html.name)}", show)
    return [f"{quote(folder.name)}/{name}" for name in names]


def _cutoffs(stated: tuple[str, ...]) -> dict[str, str]:
    """Cut-offs by the names of models.

    Raises:
        UsageError: a text is not of the form MODEL=MONTH.
    """
    from openfingym.models.cutoffs import require_cutoff

    cutoffs = {}
    for text in stated:
        # The last equals sign: names of models may have some too.
        model, equals, cutoff = text.rpartition("=")
        if not equals or not model:
            raise UsageError(f"--cutoff takes MODEL=MONTH, such as gpt-4o-mini=2023-10; found {text[:60]!r}")
        cutoffs[model] = require_cutoff(cutoff)
    return cutoffs


def _show_report(made: Report, *, each_task: bool) -> None:
    """Print the tables, a block for each kind of data, and the comparisons in words."""
    from openfingym.reports import tables
    from openfingym.reports.text_table import kinds_of
    from openfingym.results.notebook import data_name

    # A note that explains several tables is printed below the first one alone.
    notes: set[str] = set()
    for kind in kinds_of(made):
        name = data_name(kind)
        say(f"{one_line(name if name.isupper() else name.capitalize(), LONGEST)} data\n")
        for table in tables.tables_of(made, kind, (*tables.ON_TERMINAL, *(("tasks",) if each_task else ()))):
            _show_table(table, note=table.note not in notes)
            notes.add(table.note)
        for section in made.questions.of(kind) if made.questions is not None else ():
            _show_table(section.text(), note=section.note not in notes)
            notes.add(section.note)
        sentences, rest = tables.comparisons_in_words(made, kind)
        for sentence in (*sentences, rest):
            if sentence:
                say(one_line(sentence, LONGEST))
        say()
    models = tables.model_table(made)
    if models is not None:
        _show_table(models, note=True)
    _show_origins(made)
    for damaged in made.damaged[: tables.DAMAGED]:
        say(f"damaged, in no figure: {one_line(damaged.reason, LONGEST)}")
    if len(made.damaged) > tables.DAMAGED:
        say(f"and {len(made.damaged) - tables.DAMAGED:,} more damaged runs; --json names all")


def _show_origins(made: Report) -> None:
    """Print how many runs there are, what they were made with, and what to beware of."""
    copies = f", {made.copies:,} copies left out" if made.copies else ""
    say(f"{made.runs:,} {'run' if made.runs == 1 else 'runs'}{copies}")
    say(f"{made.backed:,} of {made.scored:,} scores are backed by a receipt")
    versions = ", ".join(f"{version} ({count:,})" for version, count in made.versions)
    if versions:
        say(f"made with openfingym {one_line(versions, LONGEST)}; compared by {__version__} on {made.made_at}")
    for caution in made.cautions:
        say(f"beware: {one_line(caution.sentence, LONGEST)}")
    for remark in made.questions.remarks if made.questions is not None else ():
        say(f"beware: {one_line(remark, LONGEST)}")


def _show_table(table: TextTable, *, note: bool) -> None:
    """Print a table, whose texts may come from strangers' runs, and its note where it was not printed before."""
    rows = [[one_line(text, LONGEST) for text in row] for row in table.rows]
    print_table(table.title, table.columns, rows, right=table.columns[table.left :], optional=table.optional)
    if note and table.note:
        say(f"{table.note}\n")


def _write(path: Path, text: str) -> None:
    from openfingym.files.whole import store_errors

    with store_errors(path, "choose another file"):
        # Written through and not replaced, since it may be a pipe or a device. Names of folders may be no Unicode;
        # these are written as escapes.
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


@report.command()
@click.argument("run_folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. Default: tearsheet.html in the run's folder.",
)
@click.option(
    "--benchmark",
    metavar="SYMBOL|equal-weight|CSV",
    help="What alpha and beta are against: a symbol of the task, equal parts of all, or a file of closes over time. "
    "Default: the task's baseline.",
)
@click.option(
    "--trades",
    "trades_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the round trips as CSV, and link to them.",
)
@json_option("an object")
def tearsheet(
    run_folder: Path, out: Path | None, benchmark: str | None, trades_file: Path | None, as_json: bool
) -> None:
    """The tear sheet of a trading run, as one HTML file.

    RUN_FOLDER is a folder that `openfingym run` wrote. The run's actions are played again on the task's hidden bars,
    which this machine must have: the sheet is for whoever ran the agent, not for the agent.
    """
    from dataclasses import asdict

    import numpy as np

    from openfingym.files.whole import write_text
    from openfingym.metrics.performance import summary
    from openfingym.reports.trading.benchmark import benchmark_of
    from openfingym.reports.trading.replay import baseline_traces, package_of, replay
    from openfingym.reports.trading.sections import Trades, link_between, risk_figures
    from openfingym.reports.trading.surface import cost_delay_surface
    from openfingym.reports.trading.tearsheet import Heading, render
    from openfingym.reports.trading.trades import to_csv, trades_of
    from openfingym.results import read_run

    result = read_run(run_folder)
    package = package_of(result)
    periods_per_year = package.task.spec.scoring.periods_per_year
    path = (out or run_folder / "tearsheet.html").absolute()
    with TerminalProgress() as show:
        show("playing the run again")
        replays = replay(run_folder)
        traces, baseline = [replayed.trace for replayed in replays], baseline_traces(package)
        chosen = None if benchmark is None else benchmark_of(benchmark, replays)
        show("scoring its decisions at other costs and delays")
        surface = cost_delay_surface([replayed.tape for replayed in replays])
        link = None if trades_file is None else link_between(path, trades_file)
        trades = Trades(trades_of(replays), link)
        heading = Heading.of_run(result, periods_per_year)
        page = render(heading, traces, baseline, surface, benchmark=chosen, trades=trades)
    # This replaces what is there and does not write through it: the run may be a stranger's, with a link of that name.
    write_text(path, page, errors="backslashreplace")
    if trades_file is not None:
        _write(trades_file, to_csv(trades.trades))
    if as_json:
        figures = asdict(summary(np.stack([trace.record for trace in traces]), periods_per_year))
        run = {"task": result.task, "agent": result.agent, "data_kind": result.data_kind}
        risk = risk_figures(heading.baseline, traces, baseline, chosen, periods_per_year)
        print_json(
            {
                "path": str(path),
                "trades": None if trades_file is None else str(trades_file.absolute()),
                **run,
                "performance": figures,
                "risk": risk,
                "cost_delay": surface.to_dict(),
            }
        )
    else:
        say(path)
        if trades_file is not None:
            say(trades_file.absolute())


@report.command()
@click.argument("run_folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option("an object")
def surface(run_folder: Path, as_json: bool) -> None:
    """What is left of a trading run at other costs and decision delays.

    RUN_FOLDER is a folder that `openfingym run` wrote. The decisions of its private episodes are carried out again,
    later and at other costs; the table has the mean total return.
    """
    from openfingym.reports.trading.heatmap import sentence
    from openfingym.reports.trading.replay import replay
    from openfingym.reports.trading.surface import cost_delay_surface

    with TerminalProgress() as show:
        show("scoring the run's decisions at other costs and delays")
        returns = cost_delay_surface([replayed.tape for replayed in replay(run_folder)])
    if as_json:
        print_json(returns.to_dict())
        return
    columns = ["cost, one way", *(f"{delay} bars" for delay in returns.delays)]
    rows = [
        (f"{cost:g} bps", *(f"{value:.2%}" for value in earned))
        for cost, earned in zip(returns.costs_bps, returns.total_return, strict=True)
    ]
    print_table("", columns, rows, right=columns)
    say(sentence(returns))


report.add_command(baselines)
