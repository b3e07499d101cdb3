"""Commands of ``openfingym forge`` for people who look at its results: review, search, graph and mark."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import printable, say
from openfingym.cli.render import print_json, print_table
from openfingym.errors import UsageError

forge_argument = click.argument("forge", type=click.Path(exists=True, file_okay=False, path_type=Path))
DECISIONS = {"accept": 0, "change": 2, "reject": 1}
"""What a person may decide, and the number of words that follow each decision on the command line."""


@click.command()
@forge_argument
@click.argument("paper", required=False)
@click.argument("decision", required=False, type=click.Choice(list(DECISIONS)))
@click.argument("words", nargs=-1)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the index to this page, and a page for each paper into a folder of its name.",
)
@click.option("--who", default="", help="Who decides. Default: the user of this machine.")
def review(
    forge: Path, paper: str | None, decision: str | None, words: tuple[str, ...], html: Path | None, who: str
) -> None:
    """Write the pages on which a person looks at what a FORGE made, or decide about one PAPER.

    DECISION is `accept`, which alone makes its task curated; `change FIELD VALUE`, after which `openfingym forge run`
    does the stages that follow again; or `reject REASON`, which removes its task. All are kept.
    """
    from openfingym_forge.folder import ForgeFolder
    from openfingym_forge.review import accept, change, reject, write_pages

    opened = ForgeFolder.open(forge)
    if decision is not None and paper is not None:
        if len(words) != DECISIONS[decision]:
            raise UsageError("say one of: accept; change FIELD VALUE; reject REASON (in quotation marks)")
        folder = opened.find(paper)
        # Not while a run works on the forge, which could install or remove the same task.
        with opened.working():
            if decision == "accept":
                accept(opened, folder, who)
            elif decision == "change":
                change(opened, folder, words[0], words[1], who)
            else:
                reject(opened, folder, words[0], who)
        say(f"{folder.key}: {decision}, kept in {folder.path / 'decisions.jsonl'}")
    elif paper is not None:
        raise UsageError("say what is decided: accept; change FIELD VALUE; reject REASON")
    if html is not None or decision is None:
        pages = write_pages(opened, html or Path("review.html"))
        say(f"{len(pages) - 1} papers: {pages[0]}")


@click.command()
@forge_argument
@click.argument("words", nargs=-1, required=True)
@json_option("a list, an object a hit")
def search(forge: Path, words: tuple[str, ...], as_json: bool) -> None:
    """Find what has all WORDS: papers, data sets, metrics, settings and tasks of a FORGE, and the shipped tasks."""
    from openfingym_forge.folder import ForgeFolder
    from openfingym_forge.knowledge.database import rebuild

    with rebuild(ForgeFolder.open(forge).root) as base:
        hits = [asdict(hit) for hit in base.search(" ".join(words))]
    if as_json:
        print_json(hits)
        return
    columns = ["kind", "key", "title", "snippet"]
    print_table("Found", columns, [[printable(str(hit[column])) for column in columns] for hit in hits])


@click.command()
@forge_argument
@click.option("--only", default="", help="Only what is linked with this task.")
@click.option("--form", type=click.Choice(["text", "dot", "json"]), default="text", show_default=True)
def graph(forge: Path, only: str, form: str) -> None:
    """Show which tasks share data or metrics, those of a FORGE and the shipped ones."""
    from openfingym_forge.folder import ForgeFolder
    from openfingym_forge.knowledge.database import rebuild
    from openfingym_forge.knowledge.graph import shared_graph

    with rebuild(ForgeFolder.open(forge).root) as base:
        shared = shared_graph(base, only=only)
    say({"text": shared.text, "dot": shared.dot, "json": shared.json}[form]())


@click.command()
@click.argument("forges", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--key",
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="What should have been found: a TOML file, or a folder that holds KEY.toml.",
)
@json_option("a list, an object a forge")
def mark(forges: tuple[Path, ...], key: Path, as_json: bool) -> None:
    """Mark FORGES against an answer key: fields, metrics, tasks, leaks let through, tokens; side by side."""
    from openfingym_forge.bench import mark_forge, read_key, side_by_side
    from openfingym_forge.folder import ForgeFolder

    expected = read_key(key)
    results = [mark_forge(ForgeFolder.open(forge), expected) for forge in forges]
    if as_json:
        print_json([result.as_json() for result in results])
    else:
        say(side_by_side(results))
