"""``openfingym vault pull`` and ``simulate``: vaults of a publisher's data, and of simulated worlds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json
from openfingym.errors import UsageError
from openfingym.suites.world import PullOrder, World, find_world, known_worlds

_FOLDER = click.Path(file_okay=False, path_type=Path)


class WorldName(click.ParamType[str]):
    """The name of a world that installed suites bring.

    Args:
        fits: whether a world can do what the command does.
    """

    name = "world"

    def __init__(self, fits: Callable[[World], bool]) -> None:
        self._fits = fits

    def worlds(self) -> dict[str, str]:
        """What each world that fits holds, by name; of one that cannot be loaded, why."""
        found = {}
        for name in known_worlds():
            try:
                world = find_world(name)
            except UsageError as error:
                found[name] = str(error)
                continue
            if self._fits(world):
                found[name] = world.about
        return found

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if a world that fits has it."""
        # The others are not loaded: one that cannot be is no matter of who asks for this one.
        if value not in known_worlds() or not self._fits(find_world(value)):
            names = ", ".join(map(repr, self.worlds())) or "those of installed suites, of which there are none"
            self.fail(f"{value!r} is not one of {names}.", param, ctx)
        return value

    # Click calls it with all of these arguments.
    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """The names that begin as what was typed does."""
        return [CompletionItem(name) for name in self.worlds() if name.startswith(incomplete)]


class _Worlds(click.Command):
    """A command about a world, whose help lists them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of worlds."""
        kinds = [parameter.type for parameter in self.params if isinstance(parameter.type, WorldName)]
        rows = [row for kind in kinds for row in kind.worlds().items()]
        if rows:
            with formatter.section("Worlds"):
                formatter.write_dl(rows)
        super().format_epilog(ctx, formatter)


@click.command("pull", cls=_Worlds)
@click.argument("name", type=WorldName(lambda world: world.pulls))
@click.option("--from", "first", metavar="YYYY-MM", required=True, help="First month.")
@click.option("--to", "last", metavar="YYYY-MM", required=True, help="Last month, included.")
@click.option("--texts", type=_FOLDER, help="Folder of .parquet or .jsonl files with url, title and text of articles.")
@click.option("--fetch-texts", "fetch", is_flag=True, help="Fetch the articles' pages, a request a second to a host.")
@click.option("--max-pages", "most_pages", type=click.IntRange(1), help="Fetch at most so many pages this time.")
@click.option("--out", type=_FOLDER, help="Folder for the vault; the store if left out.")
@click.option("--work", type=_FOLDER, help="Folder for what a pull needs to go on; below the store if left out.")
@click.option("--base-url", metavar="URL", help="Ask this address instead of the publisher's.")
@click.option("--threshold", type=click.IntRange(0), help="Mentions that an event must exceed (default: 50).")
@json_option("an object")
def pull_command(
    name: str,
    first: str,
    last: str,
    texts: Path | None,
    fetch: bool,
    most_pages: int | None,
    out: Path | None,
    work: Path | None,
    base_url: str | None,
    threshold: int | None,
    as_json: bool,
) -> None:
    """Pull months of a publisher's data into a vault; NAME is that of a world.

    A pull goes on where an earlier one stopped, however that ended. Without --texts or --fetch-texts, titles are made
    of the articles' addresses, and there are no texts.
    """
    order = PullOrder(first, last, out, work, base_url, texts, fetch, most_pages, threshold)
    pulled = find_world(name).pull(order, lambda line: say(line, err=True))
    if as_json:
        print_json({"folder": str(pulled.vault.folder), "digest": pulled.vault.digest, **pulled.document})
        return
    say(f"{pulled.vault.folder}\n  digest {pulled.vault.digest}")
    for line in pulled.lines:
        say(f"  {line}")


@click.command("simulate", cls=_Worlds)
@click.argument("name", type=WorldName(lambda world: world.simulates))
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The world.")
@click.option("--days", type=click.IntRange(1, 20_000), help="How long it is; default: as long as its world says.")
@click.option("--out", type=_FOLDER, help="Folder for the vault; the store if left out.")
@json_option("an object")
def simulate_command(name: str, seed: int, days: int | None, out: Path | None, as_json: bool) -> None:
    """Make a vault of a simulated world; NAME is that of a world.

    Nothing that is simulated is real, and it says so. The same seed and days give the same digest.
    """
    made = find_world(name).simulate(seed, days, out)
    if as_json:
        print_json({"folder": str(made.folder), "digest": made.digest, "simulated": True})
        return
    say(f"{made.folder}\n  {made.manifest.title}\n  digest {made.digest}")
