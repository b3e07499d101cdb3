"""Documents of the real past: statements and filings; of most filings the vault has a line of a list alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from openfingym.suites.findeepforecast.world.known import Document
from openfingym.suites.findeepforecast.world.recorded_tables import cik_of, issuer_on, issuers
from openfingym.vault import Between
from openfingym.vault.spec import KNOWN_AT

if TYPE_CHECKING:
    from openfingym.vault.view import Row, View

SEC, FED = "SEC", "Federal Reserve"
_STATEMENT = "FOMC-"
_LINE = ("cik", "form", "filed", "items", "accession", KNOWN_AT)


class RecordedDocuments:
    """The documents of a view."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._ciks = sorted({one.cik for one in issuers()})

    def between(self, begin: datetime, end: datetime) -> list[Document]:
        """Those that became known in [begin, end), oldest first."""
        known = Between(begin.astimezone(UTC), end.astimezone(UTC))
        where = {KNOWN_AT: known}
        lines = self._view.rows("filing_calendar", where | {"cik": self._ciks}, columns=_LINE)
        texts = {str(row["accession"]): _filing(row) for row in self._view.rows("filings", where)}
        found = [_line(row) for row in lines if str(row["accession"]) not in texts]
        found += [*texts.values(), *map(_statement, self._view.rows("fomc_statements", where))]
        return sorted((one for one in found if one.at < end), key=lambda one: (one.at, one.id))

    def search(self, text: str, limit: int, subject: str | None) -> list[Document]:
        """Those with a text, by relevance to another."""
        found = []
        if subject is None or cik_of(subject) is not None:
            where = None if subject is None else {"cik": cik_of(subject)}
            found += [
                (hit.score, _filing(hit.row)) for hit in self._view.search("filings", text, where=where, limit=limit)
            ]
        if subject in {None, "US"}:
            found += [
                (hit.score, _statement(hit.row)) for hit in self._view.search("fomc_statements", text, limit=limit)
            ]
        return [document for _, document in sorted(found, key=lambda one: (-one[0], one[1].id))[:limit]]

    def named(self, name: str) -> Document | None:
        """One by its id."""
        if name.startswith(_STATEMENT):
            statements = (_statement(row) for row in self._view.rows("fomc_statements"))
            return next((one for one in statements if one.id == name), None)
        for row in self._view.rows("filings", {"accession": name}, limit=1):
            return _filing(row)
        for row in self._view.rows("filing_calendar", {"accession": name, "cik": self._ciks}, columns=_LINE, limit=1):
            return _line(row)
        return None


def _filing(row: Row) -> Document:
    at = _time(row)
    title = f"{row['company']}: {row['form']}{_items(row)}"
    return Document(str(row["accession"]), at, SEC, True, title, str(row["text"]), _symbol(row, at))


def _line(row: Row) -> Document:
    at = _time(row)
    known = issuer_on(int(str(row["cik"])), at.date())
    title = f"{known.name}: {row['form']}{_items(row)}"
    body = (
        f"{known.name} ({known.symbol}) filed a {row['form']} on {row['filed']}{_items(row)}. The text is not recorded."
    )
    return Document(str(row["accession"]), at, SEC, True, title, body, known.symbol)


def _statement(row: Row) -> Document:
    kind = str(row["kind"])
    title = f"Federal Reserve: {kind.replace('_', ' ')} of {row['date']}"
    return Document(f"{_STATEMENT}{row['date']}-{kind}", _time(row), FED, True, title, str(row["text"]), "US")


def _symbol(row: Row, at: datetime) -> str:
    cik = int(str(row["cik"])) if row["cik"] is not None else 0
    return issuer_on(cik, at.date()).symbol if any(one.cik == cik for one in issuers()) else ""


def _items(row: Row) -> str:
    return f", items {row['items']}" if row["items"] else ""


def _time(row: Row) -> datetime:
    at = row[KNOWN_AT]
    if not isinstance(at, datetime):
        raise TypeError(f"known_at is {at!r}")
    return at
