"""Header fields of HTTP: every form that a service may send, and those that a hostile one does."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from openfingym.headers import LONGEST_KEY, LONGEST_RETRY_AFTER_S, is_idempotency_key, retry_after_s

NOON = "Wed, 21 Oct 2015 12:00:00 GMT"


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        ("0", 0.0),
        ("30", 30.0),
        (" 0.5 ", 0.5),
        ("Wed, 21 Oct 2015 12:01:30 GMT", 90.0),
        ("Wed, 21 Oct 2015 13:00:30 +0100", 30.0),
        ("Wed, 21 Oct 2015 12:00:07 -0000", 7.0),
        ("Wed, 21 Oct 2015 11:59:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("1e3", None),
        ("inf", None),
        ("nan", None),
        ("²", None),
        ("１２", None),
        ("1,2", None),
        ("Wed, 99 Oct 2015 12:00:00 GMT", None),
        ("Wed, 21 Oct 99999 12:00:00 GMT", None),
        ("Oct +9999999999999 21 07:28:00 , GMT", None),
        ("9" * 400, LONGEST_RETRY_AFTER_S),
        ("9" * 5000, LONGEST_RETRY_AFTER_S),
        ("Fri, 31 Dec 9999 23:59:59 -2359", LONGEST_RETRY_AFTER_S),
    ],
)
def test_how_long_to_wait(stated: str, seconds: float | None) -> None:
    assert retry_after_s({"retry-after": stated, "date": NOON}) == seconds


def test_without_the_header_there_is_nothing_to_wait_for() -> None:
    assert retry_after_s({"date": NOON}) is None


@pytest.mark.parametrize("date", ["", "soon", "Oct +9999999999999 21 07:28:00 , GMT"])
def test_a_date_alone_is_compared_with_the_clock_of_this_machine(date: str) -> None:
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    waits = retry_after_s({"retry-after": in_an_hour, "date": date})
    assert waits is not None
    assert 1800 < waits <= 3600
    assert retry_after_s({"retry-after": NOON, "date": date}) == 0.0


def test_no_value_breaks_who_reads_it() -> None:
    generator = random.Random(0)
    parts = ["Wed,", "21", "Oct", "2015", "07:28:00", "GMT", "+9999999999999", "-2400", "99999", "0001", "9" * 5000]
    parts += [":", "-", ".", " ", "\x00", "é", "+", "(", "12:", "PM"]
    for _ in range(5000):
        stated, date = (" ".join(generator.choices(parts, k=generator.randrange(1, 9))) for _ in range(2))
        waits = retry_after_s({"retry-after": stated, "date": date})
        assert waits is None or 0.0 <= waits <= LONGEST_RETRY_AFTER_S


@pytest.mark.parametrize("key", ["k", "!", "~", 'a,b;c="d"', "x" * LONGEST_KEY])
def test_idempotency_keys(key: str) -> None:
    assert is_idempotency_key(key)


@pytest.mark.parametrize(
    "key", ["", "a b", " ", "a\n", "a\r\nX: b", "\x7f", "caf\xe9", "\ud800", "x" * (LONGEST_KEY + 1)]
)
def test_no_idempotency_keys(key: str) -> None:
    assert not is_idempotency_key(key)
