"""Downloads over a real socket: faults of the wire, resuming, politeness, and what is never accepted."""

import gzip
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from openfingym.data.sources import Client, NotPublishedError, OfflineError
from openfingym.data.sources.transport import ClientPolicy
from openfingym.data.sources.wire import check_body
from openfingym.errors import DataError

BODY = b"time,a\n" + b"".join(b"2024-01-01,%d\n" % i for i in range(20_000))
ETAG = '"first"'


@pytest.fixture
def get(client, tmp_path):
    part = tmp_path / "part"

    def get(url, *, kind="csv", max_bytes=10**7, **options):
        done = client.download(url, part, kind=kind, max_bytes=max_bytes, **options)
        return None if done is None else part.read_bytes()

    return get


def test_a_good_answer(site, get, tmp_path):
    seen = []
    assert get(site.on("/a.csv", BODY), progress=lambda *report: seen.append(report)) == BODY
    assert seen[-1] == ("a.csv", len(BODY), len(BODY))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert site.asked[0].headers["accept-encoding"] == "identity"
    assert [path.name for path in tmp_path.iterdir()] == ["part"]


@pytest.mark.parametrize("status", [429, 418, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_again(site, get, reply, naps, status):
    assert get(site.on("/a", reply(b"busy", status), reply(b"busy", status), BODY)) == BODY
    assert len(site.asked) == 3
    assert 0.3 < naps[0] < 0.7
    assert 0.7 < naps[1] < 1.3


def test_retry_after_is_honoured_in_seconds_and_as_a_date(site, get, reply, naps):
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    replies = reply(b"", 429, {"Retry-After": "17"}), reply(b"", 503, {"Retry-After": later}), BODY
    assert get(site.on("/a", *replies)) == BODY
    assert naps[0] == 17.0
    assert 35.0 < naps[1] <= 40.0


def test_who_asks_to_wait_for_an_hour_is_not_waited_for(site, get, reply, naps):
    with pytest.raises(DataError, match="asks to wait 3600 s"):
        get(site.on("/a", reply(b"", 429, {"Retry-After": "3600"})))
    assert (naps, len(site.asked)) == ([], 1)


def test_no_date_of_a_service_breaks_the_download(site, get, reply):
    hostile = reply(b"", 503, {"Retry-After": "Oct +9999999999999 21 07:28:00 , GMT"})
    assert get(site.on("/a", hostile, BODY)) == BODY


def test_only_failures_end_in_an_error_that_counts_them(site, get, reply):
    with pytest.raises(DataError, match="status 503; gave up after 3 attempts"):
        get(site.on("/a", reply(b"", 503)))
    assert len(site.asked) == 3


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [(404, NotPublishedError, "not published"), (403, DataError, "refused with status 403: no")],
)
def test_a_final_failure_is_not_tried_again(site, get, reply, status, error, message):
    with pytest.raises(error, match=message):
        get(site.on("/a", reply(b"no", status)))
    assert len(site.asked) == 1


def test_a_download_that_breaks_off_is_resumed_from_where_it_stopped(site, get, reply):
    assert get(site.on("/a", reply(BODY, etag=ETAG, send=100_000), reply(BODY, etag=ETAG))) == BODY
    assert "range" not in site.asked[0].headers
    start = int(site.asked[1].headers["range"].removeprefix("bytes=").removesuffix("-"))
    assert 0 < start <= 100_000
    assert site.asked[1].headers["if-range"] == ETAG


def test_a_file_that_changed_meanwhile_is_downloaded_whole(site, get, reply):
    other = BODY.replace(b"2024", b"2025")
    assert get(site.on("/a", reply(BODY, etag=ETAG, send=100_000), reply(other, etag='"second"'))) == other


def test_without_a_strong_validator_nothing_is_resumed(site, get, reply):
    weak = {"ETag": 'W/"weak"'}
    assert get(site.on("/a", reply(BODY, headers=weak, send=100_000), reply(BODY, headers=weak))) == BODY
    assert "range" not in site.asked[1].headers


def test_another_process_resumes_what_the_first_left(site, get, reply):
    url = site.on("/a", *[reply(BODY, etag=ETAG, send=90_000)] * 3)
    with pytest.raises(DataError, match="continues where this one stopped"):
        get(url)
    site.on("/a", reply(BODY, etag=ETAG))
    assert get(url) == BODY
    assert "range" in site.asked[-1].headers


@pytest.mark.parametrize(
    "answer", [{"status": 416}, {"status": 206, "headers": {"Content-Range": "bytes 5-9/10"}}, {"status": 206}]
)
def test_a_server_that_botches_ranges_costs_one_whole_download(site, get, reply, answer):
    botched = reply(b"12345", answer["status"], answer.get("headers", {}))
    assert get(site.on("/a", reply(BODY, etag=ETAG, send=100_000), botched, reply(BODY, etag=ETAG))) == BODY
    assert "range" not in site.asked[2].headers


def test_a_body_always_shorter_than_stated_is_never_accepted(site, get, reply):
    with pytest.raises(DataError, match=r"broke off|received"):
        get(site.on("/a", reply(BODY, send=len(BODY) - 1)))
    assert len(site.asked) == 3


def test_a_range_that_ends_too_early_is_not_taken_for_the_whole(site, get, reply):
    class Short(reply):
        """The right start, but only the next 1,000 bytes, and a Content-Length that agrees with that."""

        def __getattribute__(self, name):
            if name in {"body", "headers"}:
                start = int(site.asked[-1].headers["range"].removeprefix("bytes=").removesuffix("-"))
                stop = start + 1000
                return (
                    BODY[start:stop] if name == "body" else {"Content-Range": f"bytes {start}-{stop - 1}/{len(BODY)}"}
                )
            return super().__getattribute__(name)

    assert get(site.on("/a", reply(BODY, etag=ETAG, send=100_000), Short(status=206), reply(BODY, etag=ETAG))) == BODY
    first, second = (int(asked.headers["range"].removeprefix("bytes=").removesuffix("-")) for asked in site.asked[1:])
    assert second == first + 1000


def test_a_stated_and_an_unstated_size_are_both_bounded(site, get, reply, tmp_path):
    with pytest.raises(DataError, match=f"{len(BODY)} bytes are more than the 1000"):
        get(site.on("/a", BODY), max_bytes=1000)
    bomb = gzip.compress(bytes(10**6))
    assert len(bomb) < 2000
    with pytest.raises(DataError, match="more than the 20000 bytes"):
        get(site.on("/b", reply(bomb, headers={"Content-Encoding": "gzip"})), max_bytes=20_000)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_compresses_against_our_wish_is_understood(site, get, reply):
    assert get(site.on("/a", reply(gzip.compress(BODY), headers={"Content-Encoding": "gzip"}))) == BODY


def test_silence_is_a_timeout(site, get, reply):
    with pytest.raises(DataError, match="timed out"):
        get(site.on("/a", reply(BODY, hold_s=5.0)))


def test_nobody_listening_is_offline_and_says_what_to_do(get):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(
            OfflineError,
            match=rf"cannot reach 127\.0\.0\.1:{port} .*3 attempts.*/a\.csv.*bundled datasets need no network",
        ):
            get(f"http://127.0.0.1:{port}/a.csv")


def test_a_name_that_does_not_resolve_is_offline(get):
    with pytest.raises(OfflineError, match=r"nowhere\.invalid"):
        get("http://nowhere.invalid/a.csv")


def test_not_modified_keeps_the_callers_copy(site, get, reply):
    assert get(site.on("/a", reply(BODY, etag=ETAG)), etag=ETAG) is None


def test_redirects_are_followed_but_not_for_ever(site, get, reply):
    site.on("/b", BODY)
    assert get(site.on("/a", reply(b"", 302, {"Location": "/b"}))) == BODY
    with pytest.raises(DataError, match="redirect"):
        get(site.on("/loop", reply(b"", 302, {"Location": "/loop"})))


@pytest.mark.parametrize(
    ("kind", "body", "headers", "message"),
    [
        (
            "csv",
            b"\n<!DOCTYPE html><html><title>Before you continue</title>",
            {},
            "web page titled 'Before you continue' and status 200",
        ),
        ("csv", b"<p>wait</p>", {"Content-Type": "text/html; charset=utf-8"}, "web page"),
        ("zip", b"<html>", {}, "web page"),
        ("zip", b"Not Found", {}, "not zip, the answer begins with b'Not Found'"),
        ("json", b"Will be right back", {}, "not json"),
        ("mat", b"\x89HDF\r\n\x1a\n", {}, "not mat"),
        ("csv", b"PK\x03\x04\x00\x00", {}, "not CSV text"),
        ("csv", b"", {}, "empty"),
        ("json", b" \n", {}, "empty"),
    ],
)
def test_status_200_is_not_success(site, get, reply, tmp_path, kind, body, headers, message):
    with pytest.raises(DataError, match=message):
        get(site.on("/a", reply(body, headers=headers)), kind=kind)
    assert len(site.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_rate_limit_said_in_words_with_status_200_is_waited_for(site, get):
    assert get(site.on("/a", b"Too Many Requests\r\n", b'{"chart": 1}'), kind="json") == b'{"chart": 1}'


def test_a_page_is_fine_where_a_page_is_wanted():
    check_body("html", b"<!doctype html>", "text/html", "u")


def test_requests_to_one_host_are_spaced_and_others_are_not_held_up(site, tmp_path, naps):
    url = site.on("/a", BODY)
    with Client(ClientPolicy(pause_s=5.0), sleep=naps.append) as client:
        for url_now in (url, url, url, url.replace("127.0.0.1", "localhost")):
            client.download(url_now, tmp_path / "part", kind="csv", max_bytes=10**7)
    assert len(naps) == 2
    assert 4.0 < naps[0] <= 5.0
    assert 9.0 < naps[1] <= 10.0


def test_a_drip_that_never_ends_is_cut(site, get, client, reply, tmp_path):
    with (
        Client(ClientPolicy(attempts=1, attempt_limit_s=-1.0), sleep=time.sleep) as hasty,
        pytest.raises(DataError, match=r"only .* bytes in"),
    ):
        hasty.download(site.on("/a", BODY), tmp_path / "other", kind="csv", max_bytes=10**7)


def test_https_is_never_left_for_http():
    import httpx

    from openfingym.data.sources.transport import HTTPS_ONLY, _refuse_downgrade

    _refuse_downgrade(httpx.Request("GET", "https://a/", extensions={HTTPS_ONLY: True}))
    _refuse_downgrade(httpx.Request("GET", "http://a/", extensions={HTTPS_ONLY: False}))
    with pytest.raises(DataError, match="https to http"):
        _refuse_downgrade(httpx.Request("GET", "http://a/", extensions={HTTPS_ONLY: True}))
