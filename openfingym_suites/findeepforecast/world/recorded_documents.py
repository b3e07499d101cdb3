"""Documents of the real past: statements of the Federal Reserve and filings, most of them only as a line of a list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from openfingym.vault import Between
from openfingym.vault.spec import KNOWN_AT
from openfingym_suites.findeepforecast.world.known import Document
from openfingym_suites.findeepforecast.world.recorded_tables import cik_of, issuer_on, issuers

if TYPE_CHECKING:
    from openfingym.vault.view import Row, View

SEC, FED = "SEC", "Federal Reserve"
"""Sources of the documents."""
_STATEMENT = "FOMC-"
"""Beginning of the ids of statements, which no accession number has."""
_LINE = ("cik", "form", "filed", "items", "accession", KNOWN_AT)


class RecordedDocuments:
    """The documents that a view shows.

    Args:
        view: the bundled vault as of a time.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._ciks = sorted({issuer.cik for issuer in issuers()})

    def between(self, begin: datetime, end: datetime) -> list[Document]:
        """Documents that became known in [begin, end), oldest first."""
        known = Between(begin.astimezone(UTC), end.astimezone(UTC))
        where = {KNOWN_AT: known}
        lines = self._view.rows("filing_calendar", where | {"cik": self._ciks}, columns=_LINE)
        filings = {str(row["accession"]): _filing(row) for row in self._view.rows("filings", where)}
        # A filing with a text is in the list of filings too.
        documents = [_line(row) for row in lines if str(row["accession"]) not in filings]
        documents += [*filings.values(), *map(_statement, self._view.rows("fomc_statements", where))]
        # Between has both bounds, so documents of the very end are left out here.
        return sorted((document for document in documents if document.at < end), key=lambda each: (each.at, each.id))

    def search(self, text: str, limit: int, subject: str | None) -> list[Document]:
        """Documents that have a text, by relevance to another text.

        If they are about one company and fewer than wanted, lines of its list of filings follow that share a word with
        the text that is searched for, such as ``8-K`` or ``5.02``.

        Args:
            text: the words to look for.
            limit: how many documents at most.
            subject: symbol of a company, or ``US`` for statements of the Federal Reserve; None for all.
        """
        scored: list[tuple[float, Document]] = []
        cik = None if subject is None else cik_of(subject)
        if subject is None or cik is not None:
            where = None if cik is None else {"cik": cik}
            hits = self._view.search("filings", text, where=where, limit=limit)
            scored += [(hit.score, _filing(hit.row)) for hit in hits]
        if subject in {None, "US"}:
            hits = self._view.search("fomc_statements", text, limit=limit)
            scored += [(hit.score, _statement(hit.row)) for hit in hits]
        scored.sort(key=lambda hit: (-hit[0], hit[1].id))
        documents = [document for _, document in scored][:limit]
        if cik is not None and len(documents) < limit:
            documents += self._lines(cik, text, limit - len(documents), {document.id for document in documents})
        return documents

    def _lines(self, cik: int, text: str, limit: int, without: set[str]) -> list[Document]:
        """Lines of a company's list of filings, those with the most words of a text first, then the newest.

        Args:
            cik: number of the company at the SEC.
            text: the words to look for, in forms and items.
            limit: how many lines at most.
            without: accession numbers of filings that are left out.
        """
        wanted = {word.casefold() for word in text.replace(",", " ").split()}
        rows = self._view.rows("filing_calendar", {"cik": cik}, columns=_LINE, order=[f"-{KNOWN_AT}"])
        shared = [(len(wanted & _words(row)), row) for row in rows if row["accession"] not in without]
        # Sorting keeps the order of rows with as many words, which is from the newest on.
        best = sorted((scored for scored in shared if scored[0]), key=lambda scored: -scored[0])
        return [_line(row) for _, row in best[:limit]]

    def named(self, name: str) -> Document | None:
        """A filing by its accession number, or a statement by its id; None if none of this name is known."""
        if name.startswith(_STATEMENT):
            statements = (_statement(row) for row in self._view.rows("fomc_statements"))
            return next((statement for statement in statements if statement.id == name), None)
        for row in self._view.rows("filings", {"accession": name}, limit=1):
            return _filing(row)
        for row in self._view.rows("filing_calendar", {"accession": name, "cik": self._ciks}, columns=_LINE, limit=1):
            return _line(row)
        return None


def _words(row: Row) -> set[str]:
    """The form and the items of a line of a list of filings."""
    return {str(row["form"]).casefold(), *str(row["items"] or "").split(",")} - {""}


def _filing(row: Row) -> Document:
    """A filing of which the vault has the text."""
    at = _time(row)
    title = f"{row['company']}: {row['form']}{_items(row)}"
    return Document(str(row["accession"]), at, SEC, True, title, str(row["text"]), _symbol(row, at))


def _line(row: Row) -> Document:
    """A filing of which the vault has no text, under the company's name of the day."""
    at = _time(row)
    issuer = issuer_on(int(str(row["cik"])), at.date())
    title = f"{issuer.name}: {row['form']}{_items(row)}"
    body = (
        f"{issuer.name} ({issuer.symbol}) filed a {row['form']} on {row['filed']}{_items(row)}. "
        "The text is not recorded."
    )
    return Document(str(row["accession"]), at, SEC, True, title, body, issuer.symbol)


def _statement(row: Row) -> Document:
    kind = str(row["kind"])
    title = f"Federal Reserve: {kind.replace('_', ' ')} of {row['date']}"
    return Document(f"{_STATEMENT}{row['date']}-{kind}", _time(row), FED, True, title, str(row["text"]), "US")


def _symbol(row: Row, at: datetime) -> str:
    """The symbol that the company of a filing had at a time; empty if it is none of the issuers."""
    cik = int(str(row["cik"])) if row["cik"] is not None else 0
    return issuer_on(cik, at.date()).symbol if any(issuer.cik == cik for issuer in issuers()) else ""


def _items(row: Row) -> str:
    return f", items {row['items']}" if row["items"] else ""


def _time(row: Row) -> datetime:
    at = row[KNOWN_AT]
    if not isinstance(at, datetime):
        raise TypeError(f"known_at is {at!r}")
    return at
