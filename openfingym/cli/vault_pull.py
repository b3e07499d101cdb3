"""``openfingym vault pull`` and ``simulate``: vaults of a publisher's data, and of simulated worlds."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.suites.mirai.gdelt import PullReport
    from openfingym.vault import Vault

_FOLDER = click.Path(file_okay=False, path_type=Path)
SHOWN = 5
"""The most missing files, and the most reasons, that are shown after a pull."""


@click.command("pull")
@click.argument("name", type=click.Choice(["mirai"]))
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
    """Pull months of a publisher's data into a vault; NAME is mirai, events and news from GDELT 2.0.

    A pull goes on where an earlier one stopped, however that ended. Without --texts or --fetch-texts, titles are made
    of the articles' addresses, and there are no texts.
    """
    from openfingym.suites.mirai.gdelt import PullOptions, pull

    del name  # click has checked it, and there is one publisher
    given = {"base_url": base_url, "threshold": threshold, "work": work, "folder": out, "texts": texts}
    chosen = {key: value for key, value in given.items() if value is not None}
    options = PullOptions(first, last, fetch=fetch, most_pages=most_pages, **chosen)  # type: ignore[arg-type]
    report = pull(options, lambda line: say(line, err=True))
    if as_json:
        print_json(_json(report))
        return
    say(f"{report.vault.folder}")
    say(f"  {report.rows:,} rows in {sum(day.files for day in report.days):,} files, {report.articles:,} articles")
    say(f"  digest {report.vault.digest}")
    gaps = report.gaps
    if gaps:
        say(f"  {len(gaps):,} files missing; the next pull tries again those that are in the list:")
        for file, reason in list(gaps.items())[:SHOWN]:
            say(f"    {file}: {reason}")
    for reason, count in list(report.without_text.items())[:SHOWN]:
        say(f"  {count:,} articles without a text: {reason}")


@click.command("simulate")
@click.argument("name", type=click.Choice(["mirai", "finsearch", "findeepforecast"]))
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The world.")
@click.option(
    "--days",
    type=click.IntRange(1, 20_000),
    help="How long it is; default: 425 of mirai, 17 years of finsearch. findeepforecast has its own length.",
)
@click.option("--out", type=_FOLDER, help="Folder for the vault; the store if left out.")
@json_option("an object")
def simulate_command(name: str, seed: int, days: int | None, out: Path | None, as_json: bool) -> None:
    """Make a vault of a simulated world; NAME is mirai, countries with events and news, finsearch, a market with
    companies, prices, statistics and pages beside the real tables of the bundled vault, or findeepforecast, companies
    with reports, statistics and stories of a ten-week season.

    Nothing that is simulated is real, and it says so. The same seed and days give the same digest.
    """
    made = _MAKERS[name](seed, days, out)
    if as_json:
        print_json({"folder": str(made.folder), "digest": made.digest, "simulated": True})
        return
    say(f"{made.folder}\n  {made.manifest.title}\n  digest {made.digest}")


def _simulated_mirai(seed: int, days: int | None, out: Path | None) -> Vault:
    from openfingym.suites.mirai.simulated import simulated_vault, write_simulated
    from openfingym.suites.mirai.world import SimulationSize

    size = SimulationSize() if days is None else SimulationSize(days=days)
    return simulated_vault(size, seed=seed) if out is None else write_simulated(out, size, seed=seed)


def _simulated_finsearch(seed: int, days: int | None, out: Path | None) -> Vault:
    from openfingym.suites.finsearch.world import MarketSize, finsearch_vault, write_finsearch

    # The last day is fixed, so that a longer world begins earlier and ends with the same days.
    last = MarketSize.last_day
    size = MarketSize() if days is None else MarketSize(first_day=last - timedelta(days=days - 1))
    return finsearch_vault(size, seed=seed) if out is None else write_finsearch(out, size, seed=seed)


def _simulated_findeepforecast(seed: int, days: int | None, out: Path | None) -> Vault:
    from openfingym.suites.findeepforecast.world.building import findeepforecast_vault, write_findeepforecast

    if days is not None:
        raise UsageError(
            "findeepforecast is as long as its season and what comes before and after it; leave out --days"
        )
    return findeepforecast_vault(seed=seed) if out is None else write_findeepforecast(out, seed=seed)


_MAKERS = {
    "mirai": _simulated_mirai,
    "finsearch": _simulated_finsearch,
    "findeepforecast": _simulated_findeepforecast,
}
"""What makes the vault of each world, by name."""


def _json(report: PullReport) -> dict[str, object]:
    return {
        "folder": str(report.vault.folder),
        "digest": report.vault.digest,
        "rows": report.rows,
        "malformed": sum(day.malformed for day in report.days),
        "kept": sum(day.kept for day in report.days),
        "files": sum(day.files for day in report.days),
        "missing": report.gaps,
        "articles": report.articles,
        "dropped": report.dropped,
        "without_text": report.without_text,
    }
