"""No secret is on a session tape."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.market.commands import RestAnswer
from openfingym.market.feed import Address, Request
from openfingym.market.redaction import LEFT_OUT, without_secrets, without_secrets_in_text
from openfingym.market.tape import (
    BLOCK_SIZES,
    RecordKind,
    TapeHeader,
    answered,
    asked,
)
from openfingym.market.tape_reader import TapeReader
from openfingym.market.tape_writer import TapeWriter
from tests.openfingym.market.tapes import (
    BEGAN,
    VENUE,
    block_begins,
    later,
)

KEYS = {
    "ALPACA_API_KEY": "PKTESTKEYTESTKEY0001",
    "ALPACA_SECRET": "Sl/ash+secret=of=forty=characters=0123456",
    "BINANCE_TOKEN": "b" * 64,
}


def test_no_secret_is_on_a_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    key, secret, token = KEYS.values()
    address = Address("wss://stream.example/v2", {"APCA-API-KEY-ID": key, "APCA-API-SECRET-KEY": secret})
    feed = {
        "symbols": ["AAPL"],
        "key": key,
        "keys": [{"api_secret": "short"}],
        "url": "wss://someone:password-1@stream.example/v2?listenKey=abcdef&x=1",
        "address": str(address),
        "unnamed": secret,
    }
    path = tmp_path / "session.tape"
    with TapeWriter(path, TapeHeader("alpaca", feed), BEGAN) as tape:
        tape.record(RecordKind.FRAME, later(1), 1, json.dumps({"T": "error", "msg": f"{key} is not {secret}"}))
        tape.record(RecordKind.FRAME, later(2), 1, b"\x82\xa1T\xa7success\xa3key\xb4" + key.encode())
        tape.record(RecordKind.FRAME, later(2), 1, json.dumps({"echo": secret}).replace("/", r"\/"))
        tape.record(RecordKind.CLOSED, later(3), 1, f"403 for wss://stream.example/?key={key}")
        tape.record(
            RecordKind.NOTE, later(3), 0, f"percent: Sl%2Fash%2Bsecret%3Dof%3Dforty%3Dcharacters%3D0123456 {token}"
        )
        request = Request(
            "POST", "/order?symbol=BTC&signature=0a1b2c&apiKey=xyz", 1, address.headers, '{"token": "t1"}'
        )
        tape.record(RecordKind.ASKED, later(3), 4, asked(request))
        tape.hide("a-listen-key-of-this-hour")
        tape.record(
            RecordKind.ANSWERED, later(4), 4, answered(RestAnswer(200, b'{"listenKey": "a-listen-key-of-this-hour"}'))
        )
    with TapeReader(path) as reader:
        header, found = reader.header, list(reader)
        masked = reader.masked
    shown = CliRunner().invoke(cli, ["tape", "show", str(path), "--json"]).output
    seen = repr(found) + repr(header) + shown + inflated(path).decode("utf-8", "replace")
    for hidden in (*KEYS.values(), "Sl\\/ash", "Sl%2F", "password-1", "abcdef", "short", "0a1b2c", "xyz", "t1", "hour"):
        assert hidden not in seen, hidden
    assert masked >= 8
    assert header.feed["symbols"] == ["AAPL"]
    assert header.feed["key"] == LEFT_OUT
    assert found[0].json() == {"T": "error", "msg": f"{'*' * len(key)} is not {'*' * len(secret)}"}
    path_asked = found[5].json()
    assert isinstance(path_asked, dict)
    assert path_asked["path"] == f"/order?symbol=BTC&signature={LEFT_OUT}&apiKey={LEFT_OUT}"


def inflated(path: Path) -> bytes:
    """Everything in the blocks of a tape, read without the reader."""
    content, inflate, raw = path.read_bytes(), zlib.decompressobj(-zlib.MAX_WBITS), b""
    for begin in block_begins(content):
        raw += inflate.decompress(content[begin + 12 :][: BLOCK_SIZES.unpack_from(content, begin)[0]])
    return raw


def test_ordinary_text_is_recorded_as_it_is() -> None:
    assert without_secrets({"url": "https://a.example/x?symbol=A&limit=5", "n": [1, 2.5, None]}) == {
        "url": "https://a.example/x?symbol=A&limit=5",
        "n": [1, 2.5, None],
    }


def test_a_secret_too_short_to_be_told_from_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 8"):
        TapeWriter(tmp_path / "a.tape", VENUE, BEGAN, secrets=["BTC"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/order?a=1&signature=0a#key=1", "/order?a=1&signature=(secret)#key=1"),
        ("apiKey=x&b=2", "apiKey=(secret)&b=2"),
        ("/x?Access_Token=a%3Db=c&b=2", "/x?Access_Token=(secret)&b=2"),
        ("https://me:pass@a.example/x?b=2", "https://(secret)@a.example/x?b=2"),
        ("/x?key=&b=2", "/x?key=&b=2"),
        ("/x?limit=5", "/x?limit=5"),
        ('{"auth": {"a": 1}, "b": [{"Secret": "x"}]}', '{"auth": "(secret)", "b": [{"Secret": "(secret)"}]}'),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_what_stands_under_the_name_of_a_secret_is_left_out(text: str, shown: str) -> None:
    assert without_secrets_in_text(text) == shown


def test_no_text_takes_long_to_look_through() -> None:
    # A search whose work grows with the square of the length would take hours.
    for text in ("key" * 400_000, "?key" * 300_000, "//a" * 300_000, "=" * 1_000_000):
        assert without_secrets(text)
