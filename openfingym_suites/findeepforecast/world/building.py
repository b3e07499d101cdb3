"""The vault ``findeepforecast``: the simulated world of a season, made on first use."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of_json
from openfingym.vault import Source, Vault, VaultWriter
from openfingym.vault.made import made_vault
from openfingym_suites.findeepforecast.world import specs
from openfingym_suites.findeepforecast.world.books import keep_books
from openfingym_suites.findeepforecast.world.figures import reported_frame
from openfingym_suites.findeepforecast.world.known import Company
from openfingym_suites.findeepforecast.world.macro import macro_frames, make_releases
from openfingym_suites.findeepforecast.world.notices import notices_frame
from openfingym_suites.findeepforecast.world.reports import calendar_frame, make_reports, world_quarters
from openfingym_suites.findeepforecast.world.roster import Listed, listed
from openfingym_suites.findeepforecast.world.size import WorldSize
from openfingym_suites.findeepforecast.world.stories import story_frames

if TYPE_CHECKING:
    import pandas as pd

NAME = "findeepforecast"
VERSION = 1
"""Version of the simulator: raised by whoever gives a world of the same size and seed other rows."""
LATEST_DECISION = timedelta(weeks=4)
"""How long after the season figures are reported that may decide one of its questions: the last of them ask about a
week, and a late report is waited for."""
SOURCE = Source(
    name="openfingym.suites.findeepforecast.world, a simulator",
    licence="Apache-2.0",
    note="no company, office or desk exists, no figure was reported and no event happened, whatever names remind of; "
    "economies, currencies, time zones and the days on which exchanges are open are real",
)


def findeepforecast_vault(size: WorldSize | None = None, *, seed: int = 0) -> Vault:
    """The vault of a simulated world, from the store, or made there in less than a minute.

    Args:
        size: how large the world is; None for the paper's size.
        seed: the number from which every random draw of the world follows. The same seed, size and version of the
            library give the same digest.

    Raises:
        StoreError: the store cannot be written.
    """
    size = size or WorldSize()
    return made_vault(NAME, recipe_of(size, seed), lambda: write_findeepforecast(None, size, seed=seed))


def write_findeepforecast(
    folder: str | Path | None, size: WorldSize | None = None, *, seed: int = 0, season_only: bool = False
) -> Vault:
    """Write the vault of a simulated world.

    Args:
        folder: folder that the vault is written to; it must not exist. None for the store.
        size: how large the world is; None for the paper's size.
        seed: the number from which every random draw of the world follows.
        season_only: whether to leave out what neither the season's questions nor their tools need: news from after the
            last deadline, reports that decide no question, and columns that no tool reads. Its seed may be secret, and
            is stated nowhere.

    Raises:
        StoreError: the vault cannot be written there, or the disk is full.
    """
    size = size or WorldSize()
    firms = listed(size, seed)
    title = (
        f"A simulated world with {len(firms):,} companies of 8 economies and 96 macro series, {size.first_day} to "
        f"{size.last_day}, for a season from {size.season}, {'of one rollout' if season_only else f'seed {seed}'}"
    )
    notes = {"season": size.season.isoformat(), "weeks": str(size.weeks)}
    if not season_only:
        notes = {"seed": str(seed), **notes}
    with VaultWriter(folder, name=NAME, title=title, sources=[SOURCE], simulated=True, notes=notes) as writer:
        _add(writer, size, seed, firms, season_only=season_only)
        return writer.finish()


def _add(writer: VaultWriter, size: WorldSize, seed: int, firms: tuple[Listed, ...], *, season_only: bool) -> None:
    """Simulate the world and add its tables."""
    reports = make_reports(size, seed, firms)
    quarters = world_quarters(size)
    figures = keep_books(firms, quarters[0][1] - 1, len(quarters), seed)
    # The last deadline is on a Sunday, a day before the week after the season begins in UTC.
    over = datetime.combine(size.season + timedelta(weeks=size.weeks), time(0), UTC) if season_only else None
    writer.add(specs.COMPANIES, companies_frame(size, firms))
    writer.add(specs.REPORT_CALENDAR, _until(size, calendar_frame(reports)))
    if over is None:
        writer.add(specs.REPORTED, reported_frame(reports, figures))
    else:
        decided = over + LATEST_DECISION
        own = [report for report in reports if report.published is not None and report.published < decided]
        writer.add(specs.REPORTED_FIGURES, reported_frame(own, figures)[list(specs.REPORTED_FIGURES.types)])
    releases = make_releases(size, seed)
    series, calendar, values = macro_frames(releases, size)
    writer.add(specs.MACRO_SERIES, series)
    writer.add(specs.RELEASE_CALENDAR, _until(size, calendar))
    writer.add(specs.MACRO if over is None else specs.MACRO_FIGURES, values)
    # Stories are due from six weeks before the season on, so that there are base rates for its first questions, until
    # 14 weeks after its end, which is further than any question asks.
    begin, end = size.season - timedelta(weeks=6), size.season + timedelta(weeks=size.weeks + 14)
    # A smaller world has fewer stories, but still some of every economy.
    density = sum(size.companies.values()) / sum(WorldSize().companies.values())
    companies = [_company(firm) for firm in firms]
    news, rulings = story_frames(companies, begin, end, seed, density=max(density, 0.1), until=over)
    writer.add(specs.NEWS, [news, notices_frame(size, seed, reports, figures, releases, over)])
    writer.add(specs.RULINGS, rulings)


def _until(size: WorldSize, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a calendar that are known by the end of the world's last day."""
    return frame[frame["known_at"] < datetime.combine(size.last_day + timedelta(days=1), time(0), UTC)]


def companies_frame(size: WorldSize, firms: tuple[Listed, ...]) -> pd.DataFrame:
    """Rows of the table ``companies``."""
    import pandas as pd

    known = datetime.combine(size.first_day, time(0), UTC) - timedelta(days=1)
    rows = [
        {
            "symbol": firm.symbol,
            "name": firm.name,
            "economy": firm.economy.code,
            "indices": list(firm.indices),
            "sector": firm.sector.name,
            "currency": firm.economy.currency,
            "zone": firm.economy.zone,
            "financial": firm.financial,
            "fiscal_year_end": firm.year_end,
            "known_at": known,
        }
        for firm in firms
    ]
    return pd.DataFrame(rows)


def _company(firm: Listed) -> Company:
    economy = firm.economy
    return Company(
        firm.symbol, firm.name, economy.code, firm.indices, firm.sector.name, economy.currency, firm.financial
    )


def recipe_of(size: WorldSize, seed: int) -> str:
    """Hex SHA-256 of everything that decides the rows of a vault: its seed, its size and the simulator's version.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
    """
    stated = {name: str(value) for name, value in asdict(size).items()}
    return sha256_of_json({"version": VERSION, "size": stated, "seed": seed})
