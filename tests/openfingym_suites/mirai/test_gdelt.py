"""The pull of GDELT's files against a server that has them in their real format, and a plain reading of the rules."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.data.sources.transport import ClientPolicy
from openfingym.errors import DataError, StoreError, UsageError
from openfingym.vault import Vault
from openfingym_suites.mirai.gdelt import PullOptions, PullReport, pull
from openfingym_suites.mirai.gdelt.reducing import Reducers, reduced
from openfingym_suites.mirai.gdelt.texts import TextStore, fetch_texts
from tests.openfingym.rollouts.driving import fill

from .gdelt_server import OK_TEXT, Gdelt, Row, expected_events, made_rows, serving, zipped

THRESHOLD = 50
EVER = "9000-01-01T00:00:00+00:00"
ROWS = made_rows(datetime(2023, 3, 30, 22, tzinfo=UTC), 24, Random(3), each=40)
"""Two days, of which a few quarters are there: late evening to early morning."""


def options(gdelt: Gdelt, folder: Path, **more: object) -> PullOptions:
    given = {"base_url": gdelt.url, "work": folder / "work", "folder": folder / "vault", "pause_s": 0.0, **more}
    return PullOptions("2023-03", "2023-03", **given)  # type: ignore[arg-type]


def events(vault: Vault) -> dict[tuple[str, str, str, str], tuple[int, int, str]]:
    rows = vault.as_of(EVER).rows("events")
    return {
        (f"{row['date']:%Y%m%d}", row["head"], row["relation"], row["tail"]): (
            row["mentions"], row["articles"], f"{row['known_at']:%Y%m%d%H%M%S}",
        )
        for row in rows
    }  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> PullReport:
    """A pull without any fault."""
    gdelt = Gdelt()
    gdelt.publish(ROWS)
    with serving(gdelt):
        return pull(options(gdelt, tmp_path_factory.mktemp("whole")))


def test_the_tables_are_what_the_rules_say(whole: PullReport) -> None:
    expected = expected_events(ROWS, THRESHOLD)
    assert len(expected) > 40
    assert events(whole.vault) == expected
    assert whole.rows == sum(len(rows) for rows in ROWS.values())


def test_what_is_known_never_runs_ahead_of_its_files(whole: PullReport) -> None:
    """As of each file's time the vault has what the files up to it say, and no more."""
    for stamp in sorted(ROWS)[::5]:
        known = expected_events({time: rows for time, rows in ROWS.items() if time <= stamp}, THRESHOLD)
        time = datetime.strptime(f"{stamp}+0000", "%Y%m%d%H%M%S%z").isoformat()
        view = whole.vault.as_of(time)
        assert {(f"{r['date']:%Y%m%d}", r["head"], r["relation"], r["tail"]) for r in view.rows("events")} == set(known)
        links, articles = view.rows("event_articles"), {row["id"] for row in view.rows("articles")}
        assert {link["article"] for link in links} == articles
        assert len(links) >= sum(articles for _, articles, _ in known.values())


def test_titles_are_made_of_addresses_where_there_are_no_texts(whole: PullReport) -> None:
    assert "none, titles from addresses" in whole.vault.manifest.notes.values()
    row = whole.vault.as_of(EVER).rows("articles", limit=1)[0]
    assert row["text"] == ""
    assert row["title"] == "news.example"


def test_faults_of_the_files_cost_their_rows_alone(tmp_path: Path) -> None:
    """Lines of another form, among rows and alone, copies of rows, a broken archive, a missing one, one cut off, one
    damaged on the way."""
    stamps = sorted(ROWS)
    rows = dict(ROWS)
    rows[stamps[3]] = [*ROWS[stamps[3]], *ROWS[stamps[1]]]
    cut, damaged, missing, broken, empty, other = stamps[4:10]
    rows[empty] = []
    gdelt = Gdelt()
    malformed = b"half a line\tof three\tcolumns\n" + ROWS[stamps[0]][0].line().encode() + b"\tone more\n\xff\xfe\x00\n"
    name = "{}.export.CSV.zip".format
    commas = b"".join(row.line().replace("\t", ",").encode() + b"\n" for row in ROWS[other])
    gdelt.publish({**rows, other: []}, bad={stamps[0]: malformed, other: commas})
    gdelt.cut = {name(cut)}
    gdelt.faults[name(damaged)] = lambda times: zipped("other.CSV", b"x") if times == 1 else None
    del gdelt.files[name(missing)]
    original = gdelt.files[name(broken)]
    gdelt.files[name(broken)] = original[:60] + b"\0" * 40 + original[100:]
    listing = gdelt.files["masterfilelist.txt"].decode()
    contents = (original, gdelt.files[name(broken)])
    digests = [hashlib.md5(content, usedforsecurity=False).hexdigest() for content in contents]
    gdelt.files["masterfilelist.txt"] = (listing.replace(*digests) + "a line of nonsense\n").encode()
    with serving(gdelt):
        report = pull(options(gdelt, tmp_path))
        there = {stamp: found for stamp, found in rows.items() if stamp not in {missing, broken, other}}
        assert events(report.vault) == expected_events(there, THRESHOLD)
        assert sum(day.malformed for day in report.days) == 3
        gaps = {gap: reason for gap, reason in report.gaps.items() if reason != "not in the list"}
        assert set(gaps) == {name(missing), name(broken), name(other)}
        assert "not published" in gaps[name(missing)]
        assert "lines has the 61 columns of an export file" in gaps[name(other)]
        assert report.vault.manifest.notes["files_missing"] == str(len(report.gaps))
        # Once the files can be had, the next pull fills the gaps.
        gdelt.publish(rows, bad={stamps[0]: malformed})
        again = pull(replace(options(gdelt, tmp_path), folder=tmp_path / "again"))
        assert events(again.vault) == expected_events(rows, THRESHOLD)
        assert not [reason for reason in again.gaps.values() if reason != "not in the list"]


def test_a_second_pull_asks_for_nothing_but_the_list(tmp_path: Path) -> None:
    gdelt = Gdelt()
    gdelt.publish(ROWS)
    with serving(gdelt):
        first = pull(options(gdelt, tmp_path))
        gdelt.asked.clear()
        second = pull(replace(options(gdelt, tmp_path), folder=tmp_path / "second"))
    assert dict(gdelt.asked) == {"masterfilelist.txt": 1}
    assert first.vault.digest == second.vault.digest
    assert not list((tmp_path / "work" / "files").glob("*/*"))


class Stop:
    """Holds the answer to a request back, so that who asked can be killed meanwhile."""

    def __init__(self, name: str) -> None:
        self.name, self.reached, self.done = name, threading.Event(), threading.Event()

    def __call__(self, name: str) -> None:
        if name == self.name and not self.done.is_set():
            self.reached.set()
            self.done.wait(60)


def test_a_pull_that_is_killed_goes_on_where_it_was(tmp_path: Path, whole: PullReport) -> None:
    """``kill -9`` at several files: what was there is not asked for again, and the vault is the same to the byte."""
    gdelt = Gdelt()
    gdelt.publish(ROWS)
    names = sorted(name for name in gdelt.files if name.endswith(".zip"))
    program = (
        "import sys; from pathlib import Path; from openfingym_suites.mirai.gdelt import PullOptions, pull\n"
        "pull(PullOptions('2023-03', '2023-03', base_url=sys.argv[1], work=Path(sys.argv[2]) / 'work', "
        "folder=Path(sys.argv[2]) / 'vault', pause_s=0.0, connections=1))"
    )
    for victim in (names[2], names[12], names[-1]):
        stop = Stop(victim)
        gdelt.on_request = stop
        with serving(gdelt):
            process = subprocess.Popen([sys.executable, "-c", program, gdelt.url, str(tmp_path)])
            assert stop.reached.wait(120)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            stop.done.set()
        assert not (tmp_path / "vault").exists()
    gdelt.on_request = None
    before = dict(gdelt.asked)
    with serving(gdelt):
        report = pull(options(gdelt, tmp_path))
    fresh = {name: count - before.get(name, 0) for name, count in gdelt.asked.items() if name.endswith(".zip")}
    assert sum(fresh.values()) == 1, "only the file at which it was killed last is asked for"
    assert report.vault.digest == whole.vault.digest
    assert not list((tmp_path / "work").glob(".reduced*"))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own at a folder."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
@pytest.mark.parametrize("room", [8, 40, 120])
def test_a_pull_on_a_full_disk_goes_on_once_there_is_room(tmp_path: Path, whole: PullReport, room: int) -> None:
    """``room`` kilobytes are left: for few archives, for many, for all of them but not for their tables."""
    gdelt = Gdelt()
    gdelt.publish(ROWS)
    with small_disk(tmp_path / "disk", "1M"), serving(gdelt):
        work = tmp_path / "disk" / "work"
        work.mkdir()
        ballast = fill(tmp_path / "disk")
        os.truncate(ballast, ballast.stat().st_size - 1024 * room)
        with pytest.raises(StoreError, match="free some space"):
            pull(options(gdelt, tmp_path, work=work, connections=1))
        assert not (tmp_path / "vault").exists()
        there = {path.name for path in (work / "files").rglob("*.zip")}
        ballast.unlink()
        gdelt.asked.clear()
        report = pull(options(gdelt, tmp_path, work=work, connections=1))
    assert report.vault.digest == whole.vault.digest
    assert not there & set(gdelt.asked), "what is whole is not asked for again"


def test_a_day_is_reduced_in_another_process_as_in_this_one(tmp_path: Path) -> None:
    gdelt = Gdelt()
    gdelt.publish(ROWS)
    archives = []
    for name in sorted(gdelt.files)[:6]:
        archives.append(tmp_path / name)
        archives[-1].write_bytes(gdelt.files[name] if len(archives) != 3 else b"no archive")
    here, there, gone = (tmp_path / name for name in ("here", "there", "gone"))
    here.mkdir()
    there.mkdir()
    with Reducers(1) as reducers:
        assert reducers(archives, there) == reduced(archives, here)
        for name in ("records.parquet", "urls.parquet"):
            assert (there / name).read_bytes() == (here / name).read_bytes()
        with pytest.raises(StoreError, match="gone"):
            reducers(archives, gone)  # no such folder
        assert reducers(archives, there).damaged.keys() == {archives[2].name}
        reducers._started[0].kill()
        with pytest.raises(StoreError, match="run the same command again"):
            reducers(archives, there)


def test_a_number_of_any_length_costs_its_row_alone(tmp_path: Path) -> None:
    line = Row(1, "20230331", "USA", "CHN", "042", "042", 60, "20230331120000", "https://news.example/1").line()
    long = line.replace("\t60\t", f"\t{'9' * 5000}\t").replace("1\t", "2\t", 1)
    archive = tmp_path / "20230331120000.export.CSV.zip"
    archive.write_bytes(zipped("20230331120000.export.CSV", f"{long}\n{line}\n".encode()))
    result = reduced([archive], tmp_path)
    assert (result.counts.rows, result.counts.kept, result.damaged) == (2, 1, {})


def test_half_written_days_are_made_again(tmp_path: Path, whole: PullReport) -> None:
    gdelt = Gdelt()
    gdelt.publish(ROWS)
    with serving(gdelt):
        pull(options(gdelt, tmp_path))
        days = tmp_path / "work" / "days"
        (days / "20230330.json").write_text('{"day": "2023-03-3')
        (days / "20230331.records.parquet").unlink()
        report = pull(replace(options(gdelt, tmp_path), folder=tmp_path / "again"))
    assert report.vault.digest == whole.vault.digest


def test_texts_of_a_folder_are_cleaned_and_events_without_any_go(tmp_path: Path) -> None:
    stamp = "20230331120000"
    rows = [
        Row(number, "20230331", one, two, "042", "042", 60, stamp, f"https://news.example/{number}")
        for number, (one, two) in enumerate([("USA", "CHN"), ("FRA", "CHN"), ("USA", "FRA")])
    ]
    texts = tmp_path / "texts"
    texts.mkdir()
    good = "Ministers met in the capital on Friday to discuss the border.\n\nShort.\nThey will meet again in summer."
    lines = [
        {"url": "https://news.example/0", "title": "A  visit", "text": good},
        {"url": "https://news.example/1", "title": "Spam", "text": "buy now " * 400},
        {"url": "https://news.example/9", "title": "Of no event", "text": good},
    ]
    (texts / "part.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    gdelt = Gdelt()
    gdelt.publish({stamp: rows})
    with serving(gdelt):
        report = pull(options(gdelt, tmp_path, texts=texts))
        view = report.vault.as_of(EVER)
        assert [(row["head"], row["tail"]) for row in view.rows("events")] == [("USA", "CHN")]
        (article,) = view.rows("articles")
        assert article["title"] == "A visit"
        assert "Short." not in article["text"]
        assert (report.articles, report.dropped) == (1, 1)
        (texts / "part.jsonl").write_text('{"url": "x", "title"')
        with pytest.raises(DataError, match=r"part\.jsonl"):
            pull(replace(options(gdelt, tmp_path, texts=texts), folder=tmp_path / "no"))


def test_pages_are_fetched_once_and_as_robots_txt_has_it(tmp_path: Path) -> None:
    stamp = "20230331120000"
    gdelt = Gdelt()
    policy = ClientPolicy(attempts=1, pause_s=0.0)
    with serving(gdelt):
        paths = ["open/1", "closed/2", "gone/3"]
        rows = [
            Row(number, "20230331", "USA", two, "042", "042", 60, stamp, f"{gdelt.url}/{path}")
            for number, (two, path) in enumerate(zip(["CHN", "FRA", "ROM"], paths, strict=True))
        ]
        gdelt.publish({stamp: rows})
        gdelt.files |= {"robots.txt": b"User-agent: *\nDisallow: /closed/\n", "open/1": OK_TEXT.encode()}
        report = pull(options(gdelt, tmp_path, fetch=True, page_policy=policy))
        (article,) = report.vault.as_of(EVER).rows("articles")
        assert article["title"] == "Ministers meet"
        assert article["text"].count("\n\n") == 1
        assert "Home and other" not in article["text"]
        assert gdelt.asked["closed/2"] == 0
        assert report.without_text == {"not published": 1, "robots.txt says no": 1}
        pull(replace(options(gdelt, tmp_path, fetch=True, page_policy=policy), folder=tmp_path / "again"))
        assert (gdelt.asked["open/1"], gdelt.asked["gone/3"]) == (1, 1)


def test_a_host_whose_rules_cannot_be_had_is_left_alone_until_the_next_pull(tmp_path: Path) -> None:
    """RFC 9309, 2.3.1.3 and 2.3.1.4: a host without a robots.txt allows all, one that fails allows nothing."""
    gdelt = Gdelt()
    gdelt.files["page"] = OK_TEXT.encode()
    store = TextStore(tmp_path / "pages.sqlite")
    reasons = []
    with serving(gdelt):
        for status in (503, 429, 404):
            gdelt.faults["robots.txt"] = lambda _, status=status: status  # type: ignore[misc]
            url = f"{gdelt.url}/page"
            assert store.missing([url]) == [url]
            fetch_texts([url], store, tmp_path, local=True, policy=ClientPolicy(attempts=1, pause_s=0.0))
            reasons.append((store.reasons(), gdelt.asked["page"]))
    assert reasons == [({"robots.txt not to be had": 1}, 0), ({"robots.txt not to be had": 1}, 0), ({}, 1)]


def test_a_page_that_leads_to_this_network_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of a row is public, and what it redirects to is not."""
    asked: list[str] = []

    class Redirects(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            port = self.server.server_address[1]  # type: ignore[index]
            self.send_response(302 if self.path == "/page" else 200)
            self.send_header("Location", f"http://127.0.0.1:{port}/secret")
            self.end_headers()
            self.wfile.write(OK_TEXT.encode())

        def log_message(self, *args: object) -> None:
            pass

    real = socket.getaddrinfo

    def resolved(host: str | bytes | None, *args: Any, **kwargs: Any) -> Any:
        return real("127.0.0.1" if host in {"news.example", b"news.example"} else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setenv("NO_PROXY", "*")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Redirects)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://news.example:{server.server_address[1]}/page"
        reasons = []
        for local in (False, True):
            store = TextStore(tmp_path / f"{local}.sqlite")
            fetch_texts([url], store, tmp_path, local=local, policy=ClientPolicy(attempts=1, pause_s=0.0))
            reasons.append((store.reasons(), asked.count("/page"), asked.count("/secret")))
    finally:
        server.shutdown()
        server.server_close()
    assert reasons == [({"redirected": 1}, 1, 0), ({}, 2, 1)]


def test_what_cannot_be_pulled_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'2023-13' is no month"):
        PullOptions("2023-13", "2024-01")
    with pytest.raises(UsageError, match="backwards"):
        PullOptions("2024-01", "2023-12")
    with pytest.raises(UsageError, match="begin in 2015-02"):
        PullOptions("2014-01", "2023-12")
    gdelt = Gdelt()
    gdelt.publish({"20230501000000": []})
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match="taken exists already"):
        pull(replace(options(gdelt, tmp_path), folder=tmp_path / "taken"))
    assert not gdelt.asked
    with serving(gdelt), pytest.raises(DataError, match="has no export file from 2023-03-01 to 2023-03-31"):
        pull(options(gdelt, tmp_path))


def test_the_command_pulls_and_says_what_is_missing(tmp_path: Path) -> None:
    gdelt = Gdelt()
    gdelt.publish(ROWS)
    gone = f"{min(ROWS)}.export.CSV.zip"
    del gdelt.files[gone]
    words = ["vault", "pull", "mirai", "--from", "2023-03", "--to", "2023-03", "--work", str(tmp_path / "work")]
    with serving(gdelt):
        words += ["--base-url", gdelt.url, "--out", str(tmp_path / "vault"), "--json"]
        found = CliRunner().invoke(cli, words)
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["digest"] == Vault.open(tmp_path / "vault").digest
    assert "not published" in told["missing"][gone]
    assert told["rows"] == sum(len(rows) for rows in ROWS.values()) - len(ROWS[min(ROWS)])
    assert "2023-03-31: " in found.stderr
