"""A round about a real venue, by the real clock, against a server that speaks the venue's protocol."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from openfingym.rounds.book import Book
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.tick import tick
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier


class Binance(BaseHTTPRequestHandler):
    """The price of one symbol; the venue knows no other."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        symbol = parse_qs(asked.query).get("symbol", [""])[0]
        known = asked.path == "/api/v3/ticker/price" and symbol == "BTCUSDT"
        found = {"symbol": symbol, "price": "95321.44000000"} if known else {"code": -1121, "msg": "Invalid symbol."}
        body = json.dumps(found).encode()
        self.send_response(200 if known else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def binance() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Binance) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


SOURCE = """
[[sources]]
generator = "prices"
name = "{name}"
venue = "binance"
category = "prices"
market = "crypto"
symbols = ["{symbol}"]
unit = "USDT"
forms = ["value", "probability"]
"""


def test_what_is_asked_is_above_the_price_that_the_venue_shows(
    tmp_path: Path, binance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_BINANCE_URL", binance)
    monkeypatch.setenv("OPENFINGYM_BINANCE_STREAM_URL", binance.replace("http", "ws"))
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    times = {"generate": now - timedelta(hours=1), "deadline": now + timedelta(hours=2)}
    times |= dict.fromkeys(("resolve", "publish"), now + timedelta(hours=3))
    path = tmp_path / "real.toml"
    path.write_text(
        'name = "coins"\ntitle = "Coins"\nclock = "real"\ntimezone = "UTC"\n'
        f"start = {(now - timedelta(days=1)).isoformat()}\n[schedule]\n"
        + "".join(f'{name} = "{at:%A %H:%M}"\n' for name, at in times.items())
        + SOURCE.format(name="known", symbol="BTCUSDT")
        + SOURCE.format(name="unknown", symbol="NOSUCHUSDT")
    )
    book = Book.begin(path, time.time_ns())
    with (
        EmbeddedVerifier.start([], tmp_path / "state") as verifier,
        VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as client,
    ):
        found = tick(book, LedgerClient(client), None)
        asked = {row["question"]["form"]: row["question"] for row in client.questions.list()}
        made = {
            (one["agent"], one["question"].rpartition("-")[2]): one["answer"] for one in client.questions.forecasts()
        }

    # The other symbol holds nobody up.
    [fault] = found.faults
    assert fault.reason.startswith("unknown: ")
    assert "unavailable: price cannot be asked" in fault.reason
    assert [one.detail for one in found.actions] == ["2 questions (known 2)", "naive 2, market-implied 1"]
    assert asked["probability"]["query"] == {"venue": "binance", "symbol": "BTCUSDT", "above": 95321.4}
    assert asked["value"]["query"] == {"venue": "binance", "symbol": "BTCUSDT"}
    price = {"value": 95321.44, "unit": "USDT"}
    assert made == {
        ("naive", "value"): price,
        ("market-implied", "value"): price,
        ("naive", "probability"): {"probability": 0.5},
    }
