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
        """Those with a text, by relevance to another; of one company also the newest lines of its list of filings that
        share a word with it, such as ``8-K`` or ``5.02``.
        """
        found: list[tuple[float, Document]] = []
        cik = None if subject is None else cik_of(subject)
        if subject is None or cik is not None:
            where = None if cik is None else {"cik": cik}
            hits = self._view.search("filings", text, where=where, limit=limit)
            found += [(hit.score, _filing(hit.row)) for hit in hits]
        if subject in {None, "US"}:
            hits = self._view.search("fomc_statements", text, limit=limit)
            found += [(hit.score, _statement(hit.row)) for hit in hits]
        found.sort(key=lambda one: (-one[0], one[1].id))
        documents = [document for _, document in found][:limit]
        if cik is not None and len(documents) < limit:
            documents += self._lines(cik, text, limit - len(documents), {one.id for one in documents})
        return documents

    def _lines(self, cik: int, text: str, limit: int, without: set[str]) -> list[Document]:
        wanted = {word.casefold() for word in text.replace(",", " ").split()}
        rows = self._view.rows("filing_calendar", {"cik": cik}, columns=_LINE, order=[f"-{KNOWN_AT}"])
        shared = [(len(wanted & _words(row)), number, row) for number, row in enumerate(rows)]
        best = sorted((one for one in shared if one[0] and one[2]["accession"] not in without), key=_by_words)
        return [_line(row) for _, _, row in best[:limit]]

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


def _words(row: Row) -> set[str]:
    return {str(row["form"]).casefold(), *str(row["items"] or "").split(",")} - {""}


def _by_words(one: tuple[int, int, Row]) -> tuple[int, int]:
    """The most words in common first, then the newest."""
    return -one[0], one[1]


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
