"""Collectors: what EDGAR sends becomes a vault with the times at which it was known."""

import json
import threading
from contextlib import contextmanager
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from openfingym.data.sources.transport import ClientPolicy
from openfingym.errors import DataError, UsageError
from openfingym_suites.findeepforecast.collection import SecCollector, find_collector, known_collectors
from openfingym_suites.findeepforecast.collection.sec import accepted_times

CIK = 1075531


def filings(*rows):
    """Lists as EDGAR has them, one a column."""
    names = ("accessionNumber", "filingDate", "reportDate", "acceptanceDateTime", "form", "items", "size", "isXBRL")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    extra = {"act": ["34"] * len(rows), "primaryDocument": ["a.htm"] * len(rows)}
    return columns | extra


def fact(end, val, accn, filed, start=None, form="10-Q", **more):
    stated = {"end": end, "val": val, "accn": accn, "fy": 2025, "fp": "Q3", "form": form, "filed": filed}
    return stated | ({"start": start} if start else {}) | more


FILES = {
    f"/submissions/CIK{CIK:010d}.json": {
        "cik": str(CIK),
        "name": "Tomorrow's Name Inc",
        "tickers": ["NEW"],
        "filings": {
            "recent": filings(
                ("A-2", "2025-10-29", "2025-09-30", "2025-10-28T20:31:05.000Z", "10-Q", "", 900, 1),
                ("A-1", "2025-10-28", "2025-10-28", "2025-10-28T10:05:00.000Z", "8-K", "2.02,9.01", 300, 1),
            ),
            "files": [{"name": f"CIK{CIK:010d}-submissions-001.json", "filingCount": 1}],
        },
    },
    f"/submissions/CIK{CIK:010d}-submissions-001.json": filings(
        ("B-1", "1999-03-31", "", "1999-03-31T00:00:00.000Z", "S-1", "", 20, 0)
    ),
    f"/api/xbrl/companyfacts/CIK{CIK:010d}.json": {
        "cik": CIK,
        "entityName": "Tomorrow's Name Inc",
        "facts": {
            "us-gaap": {
                "Revenues": {
                    "label": "Revenues",
                    "units": {
                        "USD": [
                            fact("2024-09-30", 7994000000, "A-2", "2025-10-29", "2024-07-01", frame="CY2024Q3"),
                            fact("2025-09-30", 9008000000, "A-2", "2025-10-29", "2025-07-01"),
                            fact("2025-09-30", 9000000000, "A-3", "2026-02-20", "2025-07-01", form="10-K"),
                        ]
                    },
                },
                "Assets": {"units": {"USD": [fact("2025-09-30", 28.75e9, "A-2", "2025-10-29")]}},
            }
        },
    },
}


@contextmanager
def edgar(files):
    """A server of EDGAR's files; it serves nobody who does not say who asks."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            known = "@" in self.headers.get("User-Agent", "")
            content = json.dumps(files[self.path]).encode() if known and self.path in files else b"<Error/>"
            self.send_response((200 if self.path in files else 404) if known else 403)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def collector(url, **more):
    policy = ClientPolicy(attempts=1, pause_s=0.0)
    return SecCollector({CIK: "OLD"}, "Desk of tests tests@example.com", url, policy, **more)


def test_facts_and_filings_are_known_when_they_were_filed(tmp_path):
    with edgar(FILES) as url:
        vault = collector(url).collect(tmp_path / "sec")
    key = {"cik": CIK, "taxonomy": "us-gaap", "concept": "Revenues", "unit": "USD", "dimensions": "",
           "period_start": date(2025, 7, 1), "period_end": date(2025, 9, 30)}  # fmt: skip
    # In New York the day of filing ends at 04:00 UTC in summer, and at 05:00 in winter.
    assert vault.as_of("2025-10-30T03:59:59Z").latest("company_facts", **key) is None
    assert vault.as_of("2025-10-30T04:00:00Z").latest("company_facts", **key)["value"] == 9008000000
    assert vault.as_of("2026-02-21T04:59:59Z").latest("company_facts", **key)["value"] == 9008000000
    assert vault.as_of("2026-02-21T05:00:00Z").latest("company_facts", **key)["value"] == 9000000000
    view = vault.as_of("2026-06-01T00:00:00Z")
    known = {row["accession"]: row["known_at"] for row in view.rows("filing_calendar")}
    assert known == {
        "A-1": datetime(2025, 10, 28, 14, 15, tzinfo=UTC),  # 10:05 in New York, by the later reading
        "A-2": datetime(2025, 10, 29, 10, 0, tzinfo=UTC),  # of the next day's opening
        "B-1": datetime(1999, 4, 1, 5, 0, tzinfo=UTC),  # of no known time
    }
    assert not vault.manifest.simulated
    told = json.dumps(view.rows("company_facts") + view.rows("filing_calendar"), default=str)
    assert "Tomorrow" not in told
    assert "NEW" not in told


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("stated", "accepted"),
    [
        # At 03:00 New York's EDGAR is closed, so that the time is UTC's: 23:00, or 22:00 in winter, the evening before.
        ("2025-01-02T03:00", "2025-01-02T03:00"),
        ("2025-07-02T02:00:00", "2025-07-02T02:00"),
        # 08:00 in UTC would be 04:00 in New York.
        ("2025-07-02T08:00", "2025-07-02T12:00"),
        # Nothing tells: the later one.
        ("2025-07-02T15:00", "2025-07-02T19:00"),
        ("2025-02-03T17:05", "2025-02-03T22:05"),
        ("2025-05-01T16:21:59", "2025-05-01T20:21:59"),
        # What was sent just before EDGAR closed may be accepted after it.
        ("2025-02-04T22:00:31", "2025-02-05T03:00:31"),
        ("1999-07-02T00:00", None),
    ],
)
def test_a_time_of_edgar_is_read_as_the_later_one(stated, accepted):
    expected = None if accepted is None else utc(accepted)
    assert accepted_times([utc(stated)]) == [expected]
    # A file may mix UTC and New York's time: no other time of it makes a filing known earlier.
    for other in ("2025-07-02T02:00", "2025-07-02T15:00", "1999-07-02T00:00"):
        assert accepted_times([utc(other), utc(stated), utc(other)])[1] == expected


@pytest.mark.parametrize("broken", ["facts", "lists", "missing"])
def test_what_edgar_never_sends_is_an_error_and_leaves_nothing(tmp_path, broken):
    files = dict(FILES)
    if broken == "facts":
        files[f"/api/xbrl/companyfacts/CIK{CIK:010d}.json"] = {"facts": {"us-gaap": []}}
    elif broken == "lists":
        files[f"/submissions/CIK{CIK:010d}-submissions-001.json"] = FILES[
            f"/submissions/CIK{CIK:010d}-submissions-001.json"
        ] | {"form": []}
    else:
        del files[f"/submissions/CIK{CIK:010d}.json"]
    with edgar(files) as url, pytest.raises(DataError, match=str(CIK)):
        collector(url).collect(tmp_path / "sec")
    assert not (tmp_path / "sec").exists()


def test_who_asks_must_say_so():
    with pytest.raises(UsageError, match="address of mail"):
        SecCollector({CIK: "OLD"}, "nobody")
    with pytest.raises(UsageError, match="CIK"):
        SecCollector({}, "a@example.com")


def test_collectors_are_found_by_name():
    assert known_collectors()[:2] == ("simulated", "bundled")
    assert find_collector("bundled").collect().name == "bundled"
    with pytest.raises(UsageError, match="known: simulated, bundled"):
        find_collector("nothing")
