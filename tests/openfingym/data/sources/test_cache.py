"""The cache: whole content or the old one, digests checked, two processes at once, progress only on a terminal."""

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openfingym.data.sources import Cache, OfflineError
from openfingym.data.sources.progress import silent, terminal_progress
from openfingym.errors import DataError, StoreError

OLD, NEW = b"time,a\n2024-01-01,1\n", b"time,a\n2024-01-01,2\n"


def files(cache, folder):
    return sorted(path.name for path in (cache.root / folder).rglob("*") if path.is_file())


def test_the_default_is_in_the_store(store_home):
    assert Cache().root == store_home / "downloads"


def test_a_file_is_downloaded_once(site, client, cache):
    url = site.on("/a", OLD)
    first = cache.fetch(client, url, kind="csv")
    again = cache.fetch(client, url, kind="csv")
    assert first == again == cache.entry(url)
    assert cache.read(first) == OLD
    assert first.sha256 == hashlib.sha256(OLD).hexdigest()
    assert (first.size, first.origin.sha256, first.origin.fetched_at[-6:]) == (len(OLD), first.sha256, "+00:00")
    assert len(site.asked) == 1
    assert files(cache, "partial") == []


@pytest.mark.parametrize(
    "fault",
    [
        {"body": NEW, "send": 5},
        {"body": b"<!doctype html><title>Consent</title>"},
        {"body": b"", "status": 503},
        {"body": b""},
        {"body": b"gone", "status": 404},
    ],
)
def test_a_failed_refresh_leaves_the_old_entry_as_it_was(site, client, cache, reply, fault):
    url = site.on("/a", OLD)
    held = cache.fetch(client, url, kind="csv")
    before = [path.read_bytes() for path in sorted((cache.root / "entries").iterdir())]
    site.on("/a", reply(**fault))
    with pytest.raises(DataError, match="is kept and untouched"):
        cache.fetch(client, url, kind="csv", refresh=True)
    assert [path.read_bytes() for path in sorted((cache.root / "entries").iterdir())] == before
    assert cache.read(cache.fetch(client, url, kind="csv")) == OLD
    assert cache.entry(url) == held


def test_a_failed_first_download_leaves_nothing_that_looks_whole(site, client, cache, reply):
    url = site.on("/a", reply(NEW, send=5))
    with pytest.raises(DataError):
        cache.fetch(client, url, kind="csv")
    assert cache.entry(url) is None
    assert files(cache, "blobs") == files(cache, "entries") == []
    site.on("/a", NEW)
    assert cache.read(cache.fetch(client, url, kind="csv")) == NEW


def test_offline_with_and_without_a_copy(site, client, cache):
    url = site.on("/a", OLD)
    cache.fetch(client, url, kind="csv")
    client.close()
    site.close()
    assert cache.read(cache.fetch(client, url, kind="csv")) == OLD
    with pytest.raises(OfflineError, match="is kept"):
        cache.fetch(client, url, kind="csv", refresh=True)
    with pytest.raises(OfflineError, match="cannot reach"):
        cache.fetch(client, url + "other", kind="csv")


def test_a_corrected_file_keeps_the_history_of_digests(site, client, cache):
    url = site.on("/a", OLD, NEW)
    old = cache.fetch(client, url, kind="csv")
    new = cache.fetch(client, url, kind="csv", refresh=True)
    assert cache.read(new) == NEW
    assert new.earlier == (old.sha256,)
    assert cache.read(old) == OLD


def test_an_old_copy_is_confirmed_without_sending_it_again(site, client, cache, reply):
    url = site.on("/a", reply(OLD, etag='"1"'))
    first = cache.fetch(client, url, kind="csv")
    again = cache.fetch(client, url, kind="csv", max_age_s=0.0)
    assert site.asked[1].headers["if-none-match"] == '"1"'
    assert again.fetched_at > first.fetched_at
    assert again.sha256 == first.sha256
    assert cache.fetch(client, url, kind="csv", max_age_s=3600.0) == again
    assert len(site.asked) == 2


def test_content_with_another_digest_than_stated_is_never_kept(site, client, cache):
    url = site.on("/a", OLD)
    with pytest.raises(DataError, match="its publisher states 0000"):
        cache.fetch(client, url, kind="csv", sha256="0" * 64)
    assert cache.entry(url) is None
    assert files(cache, "blobs") == files(cache, "partial") == []
    digest = hashlib.sha256(NEW).hexdigest()
    site.on("/a", NEW)
    assert cache.fetch(client, url, kind="csv", sha256=digest).sha256 == digest


def test_damage_on_disk_is_noticed_and_repaired_by_the_next_fetch(site, client, cache):
    url = site.on("/a", OLD)
    entry = cache.fetch(client, url, kind="csv")
    blob = cache.path(entry)
    blob.write_bytes(NEW)
    with pytest.raises(DataError, match="was damaged and has been removed"):
        cache.read(entry)
    assert cache.read(cache.fetch(client, url, kind="csv")) == OLD
    blob.write_bytes(OLD[:3])
    assert cache.read(cache.fetch(client, url, kind="csv")) == OLD
    (cache.root / "entries" / next(iter(files(cache, "entries")))).write_text("{half")
    assert cache.read(cache.fetch(client, url, kind="csv")) == OLD


def test_a_file_that_came_by_other_means(client, cache):
    entry = cache.put("http://nowhere.invalid/a", OLD)
    assert cache.read(cache.fetch(client, "http://nowhere.invalid/a", kind="csv")) == OLD
    assert cache.entry("http://nowhere.invalid/a") == entry


def test_a_folder_that_cannot_be_written(client, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        Cache(tmp_path / "file" / "x").fetch(client, "http://nowhere.invalid/", kind="csv")


PROGRAM = """
import sys
from pathlib import Path
from openfingym.data.sources import Cache, Client
cache = Cache(Path(sys.argv[1]))
with Client() as client:
    for url in sys.argv[2:]:
        print(len(cache.read(cache.fetch(client, url, kind="csv"))))
"""


def test_two_processes_at_once_download_once_and_both_get_it_whole(site, cache, reply):
    body = b"time,a\n" + b"2024-01-01,1\n" * 200_000
    url = site.on("/a", reply(body, hold_s=0.3))
    command = [sys.executable, "-c", PROGRAM, str(cache.root), url]
    root = Path(__file__).parents[4]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(root)})
        for _ in range(2)
    ]
    assert [(process.communicate(timeout=60)[0], process.returncode) for process in started] == [
        (f"{len(body)}\n", 0)
    ] * 2
    assert len(site.asked) == 1


def test_a_killed_process_leaves_nothing_that_blocks_the_next(site, client, cache, reply):
    body = b"time,a\n" + b"2024-01-01,1\n" * 1000
    url = site.on("/a", reply(body, hold_s=30.0))
    root = Path(__file__).parents[4]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(cache.root), url], env={**os.environ, "PYTHONPATH": str(root)}
    )
    while not site.asked:
        assert process.poll() is None
    process.kill()
    process.wait()
    site.on("/a", body)
    assert cache.read(cache.fetch(client, url, kind="csv")) == body


def test_entries_are_readable_by_other_programs(site, client, cache):
    url = site.on("/a", OLD)
    cache.fetch(client, url, kind="csv")
    stated = json.loads((cache.root / "entries" / files(cache, "entries")[0]).read_text())
    assert stated["url"] == url
    assert (cache.root / "blobs" / stated["sha256"][:2] / stated["sha256"]).read_bytes() == OLD


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_drawn_on_a_terminal_only(monkeypatch):
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    with terminal_progress() as report:
        assert report is silent
        report("a.zip", 1, 2)
    assert plain.getvalue() == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with terminal_progress() as report:
        for done in range(0, 101, 10):
            report("a.zip", done, 100)
        report("unknown-size", 5, None)
    assert "a.zip" in terminal.getvalue()
