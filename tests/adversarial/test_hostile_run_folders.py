"""Run folders from strangers: whoever looks at one is told what is wrong with it, and nothing hangs, is followed or is
overwritten.

Attacks: `result.json`, `trajectory.json`, `output.log` as links, pipes or of gigabytes; JSON 100,000 deep, numbers of a
million digits, values of any type; folders 1,200 deep, names that are terminal commands; `.lock`, `.staging`,
`.result.json.partial` or `tearsheet.html` as a link to a file of yours; a `path` in `result.json`.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import shutil
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openfingym.cli import main
from openfingym.errors import OpenFinGymError, StoreError
from openfingym.files import strange as strange_files
from openfingym.files.whole import write_text
from openfingym.models.messages import Usage
from openfingym.reports.trading.replay import _read_record, read_actions
from openfingym.results import read_run
from openfingym.results.run_folder import RunFiles, rewrite_result, write_run
from openfingym.rollouts import RunFolder
from openfingym.trajectory.files import read_rollout
from openfingym.trajectory.record import Generation, StepReward, ToolUse, Turn
from tests.openfingym.reports.made import PLAYED, record_of
from tests.sweeps import fixed_part

SECRET = "the-hash-of-a-password"
DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 1_000_000
EVIL = "\x1b[2J\x1b]0;owned\x07\u202e<script>alert(1)</script><img src=x onerror=alert(1)>\ud800"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("view", "RUN"),
    ("view", "--full", "RUN"),
    ("view", "--json", "RUN"),
    ("report", "RUN", "--tasks"),
    ("report", "RUN", "--json", "--html", "OUT/page.html", "--csv", "OUT/table.csv"),
    ("report", "tearsheet", "RUN"),
    ("report", "surface", "RUN"),
    ("export", "trajectories", "RUN", "--format", "native", "--out", "OUT/native"),
    ("export", "trajectories", "RUN", "--format", "atif", "--out", "OUT/atif"),
    ("export", "trajectories", "RUN", "--format", "openai", "--out", "OUT/lines.jsonl"),
    ("rollout", "--tasks", "equity-trading", "--agent", "naive", "--out", "RUN", "--dry-run"),
    ("verifier", "collect", "RUN"),
)
VIEW, FULL, VIEW_JSON, REPORT, PAGE, _, _, NATIVE, ATIF, OPENAI, RESUME, COLLECT = COMMANDS
READERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "result.json": (VIEW, PAGE, ("report", "tearsheet", "RUN"), NATIVE, RESUME, COLLECT),
    "config.json": (PAGE,),
    "trajectory.json": (VIEW, VIEW_JSON, NATIVE, OPENAI),
    "output.log": (VIEW,),
}
"""Commands that read a file of a run, but for the record of its trading."""
LOADED: set[tuple[str, ...]] = set()
"""Commands that have run once in this process."""
FILES = (
    "result.json",
    "config.json",
    "trajectory.json",
    "output.log",
    "actions.jsonl",
    "submissions/1.npy",
    "log.jsonl",
    "program.py",
)


def a_run(root: Path, name: str = "r1") -> Path:
    """A run as ours are, of a trading task that an agent with a model played."""
    result = replace(
        PLAYED,
        rollout_id=name,
        task="equity-trading",
        relative_interval=(0.5, 0.9),
        total_interval=(0.4, 0.6),
        standard_errors={"rmse": 0.1},
        flags=("probing",),
        turns=1,
        wall_s=0.0,
        policy="local",
        disclosure="full",
        started_at="2024-01-01T00:00:00+00:00",
    )
    made = Generation(model="m", finish_reason="tool_calls", usage=Usage(10, 5), latency_s=1.25)
    call = ToolUse(
        id="1", name="run_python", arguments='{"code": "x = 1", "n": [1, {"a": 2}]}', result="97 rows", wall_s=2.5
    )
    messages = (
        Turn(role="user", content="Trade."),
        Turn(role="assistant", content="I look.", generation=made, tool_calls=(call,)),
    )
    rewards = (StepReward(episode=0, step=4, reward=-0.5, message=1),)
    record = record_of(result, messages, rewards, datetime(2024, 1, 1, tzinfo=UTC))
    array = io.BytesIO()
    np.save(array, np.ones((3, 5, 7)))
    files = RunFiles(
        {"inputs": {"agent_digest": "a", "allowance": {"turns": 3}}, "environment": {"digest": "e"}},
        "print(1)",
        b"hello\n",
        [{"n": 1}],
        {1: array.getvalue()},
        [{"fold": "private", "number": 0, "step": 1, "action": None}],
        record.model_dump_json(),
    )
    folder = write_run(root, result, files).path
    assert folder is not None
    return folder


def run(command: tuple[str, ...], folder: Path, out: Path) -> tuple[int, str, str]:
    """A command of the real entry point: its status, and what it printed, in UTF-8 as a terminal takes it."""
    out.mkdir(exist_ok=True)
    words = [word.replace("RUN", str(folder)).replace("OUT", str(out)) for word in command]
    told, said = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "argv", ["openfingym", *words]))
        stack.enter_context(mock.patch("click.utils.should_strip_ansi", return_value=False))  # as on a terminal
        stack.enter_context(contextlib.redirect_stdout(told))
        stack.enter_context(contextlib.redirect_stderr(said))
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
    printed, complained = (stream.buffer.getvalue().decode() for stream in (told, said))  # type: ignore[attr-defined]
    assert not set("\x1b\x07\x00\u202e") & set(printed + complained), (
        "what strangers wrote reaches no terminal as it is"
    )
    assert "Traceback" not in complained
    assert SECRET not in printed + complained
    return status, printed, complained


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_run(tmp_path / "runs")


def test_a_run_of_ours_can_be_looked_at(folder: Path, tmp_path: Path) -> None:
    """That what follows fails for what was done to the folder."""
    expected = {"tearsheet": 2, "surface": 2, "rollout": 2}  # another build of the task; the folder is one rollout's
    for command in COMMANDS:
        status, _, said = run(command, folder, tmp_path / "out")
        assert status == next((code for word, code in expected.items() if word in command), 0), (command, said)


def as_sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 2 << 30)


def link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


STRANGE: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "zero": link("/dev/zero"),
    "folder": Path.mkdir,
    "sparse": as_sparse,
    "deep": lambda path: path.write_text(DEEP),
    "deep objects": lambda path: path.write_text('{"a":' * 100_000),
    "long number": lambda path: path.write_text(f'{{"seed": {LONG}}}'),
    "junk": lambda path: path.write_bytes(bytes(range(256)) * 100),
    "missing": lambda path: None,
    "dangling": link("/nowhere"),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for number, name in enumerate(READERS) for kind in fixed_part(STRANGE, 2, first=number)],
)
def test_a_strange_file_ends_in_a_message(folder: Path, tmp_path: Path, name: str, kind: str) -> None:
    (folder / name).unlink()
    STRANGE[kind](folder / name)
    for command in READERS[name]:
        if command not in LOADED:  # so that what it imports is not counted
            run(command, folder, tmp_path / "out")
            LOADED.add(command)
        tracemalloc.start()
        try:
            run(command, folder, tmp_path / "out")
            assert tracemalloc.get_traced_memory()[1] < 50_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", STRANGE)
def test_a_strange_record_of_a_trading_run_ends_in_a_message(folder: Path, kind: str) -> None:
    for name, read in (("actions.jsonl", read_actions), ("submissions/1.npy", _read_record)):
        (folder / name).unlink()
        STRANGE[kind](folder / name)
        with pytest.raises(StoreError, match=name):
            read(folder)


@pytest.mark.parametrize(
    "line",
    ["1", "[]", "null", '{"fold": "private"}', '{"fold": "private", "number": Infinity, "action": 1}', DEEP, LONG],
)
def test_a_strange_action_ends_in_a_message(folder: Path, line: str) -> None:
    (folder / "actions.jsonl").write_text(line)
    with pytest.raises(StoreError, match="not a readable record of actions"):
        read_actions(folder)


@pytest.mark.parametrize(
    ("shape", "kind"), [((1 << 40, 1 << 20), "<f8"), ((4,), "|O"), ((-1, 4), "<f8"), ((1 << 70,), "<f8")]
)
def test_an_array_that_claims_what_it_has_not_ends_in_a_message(
    folder: Path, shape: tuple[int, ...], kind: str
) -> None:
    with (folder / "submissions" / "1.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    with pytest.raises(StoreError, match="not a readable record of the account"):
        _read_record(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_link_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path, name: str) -> None:
    """Each leads to a file of its own form that holds a secret: it would be shown, if it were read."""
    secret = tmp_path / "secret"
    content = (folder / name).read_bytes()
    secret.write_bytes(
        content.replace(b"react", SECRET.encode())
        .replace(b"I look.", SECRET.encode())
        .replace(b"hello", SECRET.encode())
    )
    (folder / name).unlink()
    (folder / name).symlink_to(secret)
    for command in READERS.get(name, (VIEW, PAGE, NATIVE)):
        run(command, folder, tmp_path / "out")
    assert not [
        path for path in (tmp_path / "out").rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


def test_what_is_read_of_a_run_says_what_it_met(folder: Path) -> None:
    (folder / "result.json").unlink()
    (folder / "result.json").symlink_to("/etc/passwd")
    with pytest.raises(StoreError, match="is a link to '/etc/passwd'"):
        read_run(folder)
    (folder / "result.json").unlink()
    os.mkfifo(folder / "result.json")
    with pytest.raises(StoreError, match="is a pipe, expected a file"):
        read_run(folder)
    (folder / "result.json").unlink()
    (folder / "result.json").write_text(DEEP)
    with pytest.raises(StoreError, match="nested more than 100 deep"):
        read_run(folder)
    (folder / "result.json").write_text(f'{{"seed": {LONG}}}')
    with pytest.raises(StoreError, match="1,000,000 digits"):
        read_run(folder)
    (folder / "trajectory.json").unlink()
    as_sparse(folder / "trajectory.json")
    with pytest.raises(StoreError, match="is larger than 256 MiB"):
        read_rollout(folder / "trajectory.json")


# Nothing is written through a link.


@pytest.mark.parametrize("name", [".lock", ".backend", ".staging", ".failed", "equity-trading"])
def test_a_run_that_is_gone_on_with_writes_through_no_link(tmp_path: Path, name: str) -> None:
    """A lock file that was a link to ~/.bashrc emptied it."""
    mine, root = tmp_path / "mine", tmp_path / "run"
    root.mkdir()
    if name in {".lock", ".backend"}:
        mine.write_text(SECRET)
    else:
        mine.mkdir()
        (mine / "kept").write_text(SECRET)
    (root / name).symlink_to(mine)
    with pytest.raises(OpenFinGymError), RunFolder.open(root):
        pass
    assert (mine / "kept" if mine.is_dir() else mine).read_text() == SECRET
    if mine.is_dir():
        assert [path.name for path in mine.iterdir()] == ["kept"]


@pytest.mark.timeout(60)
def test_a_record_of_the_backend_that_is_a_pipe_or_has_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".backend")
    with pytest.raises(StoreError, match=r"\.backend: cannot be read"):
        _ = RunFolder.look(tmp_path).backend
    (tmp_path / ".backend").unlink()
    as_sparse(tmp_path / ".backend")
    with pytest.raises(StoreError, match=r"\.backend: cannot be read"):
        _ = RunFolder.look(tmp_path).backend


@pytest.mark.timeout(60)
def test_a_lock_that_is_a_pipe_does_not_hang(tmp_path: Path) -> None:
    for lock in (tmp_path / ".lock", tmp_path / "inner" / ".lock"):
        lock.parent.mkdir(exist_ok=True)
        os.mkfifo(lock)
        with contextlib.suppress(OpenFinGymError), RunFolder.open(tmp_path):
            pass
        assert not lock.is_file(), "nothing was written in its place"
        lock.unlink()


def test_results_and_tear_sheets_are_written_through_no_link(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text(SECRET)
    for name in (".result.json.partial", "tearsheet.html", ".tearsheet.html.partial"):
        (folder / name).symlink_to(mine)
    rewrite_result(read_run(folder))
    write_text(folder / "tearsheet.html", "page")
    assert mine.read_text() == SECRET
    assert (folder / "tearsheet.html").read_text() == "page"


def test_a_result_does_not_say_where_it_is_written(folder: Path, tmp_path: Path) -> None:
    document = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps(document | {"path": str(tmp_path / "elsewhere")}))
    assert read_run(folder).path == folder


# Folders without end.


def test_folders_in_folders_without_end_are_walked(tmp_path: Path) -> None:
    """Deeper than Python calls itself; nothing that one can name fails for it."""
    depth, place = 1_200, os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    try:
        a_run(tmp_path / "d")
        for command in COMMANDS[:3]:
            assert run(command, tmp_path, tmp_path / "out")[0] == 0
        assert sum(1 for _ in strange_files.walk(tmp_path)) > depth
    finally:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        _remove(tmp_path / "d")


def _remove(folder: Path) -> None:
    """As rmtree, which calls itself once a level."""
    place, trail = os.open(folder, os.O_RDONLY), []
    while os.listdir(place):  # noqa: PTH208  # of a descriptor
        trail.append(place)
        place = os.open("d", os.O_RDONLY, dir_fd=place)
    for outer in reversed(trail):
        os.close(place)
        os.rmdir("d", dir_fd=outer)
        place = outer
    os.close(place)


def test_names_of_folders_reach_no_terminal(tmp_path: Path) -> None:
    hostile = tmp_path / "\x1b[2J\x07\u202e"
    a_run(hostile, "one")
    a_run(hostile, "two")
    broken = tmp_path.joinpath(os.fsdecode(b"\xff\x1b[0m"))
    broken.mkdir()
    (broken / "result.json").write_text("{}")
    for command in COMMANDS:
        _, printed, complained = run(command, tmp_path, tmp_path / "out")
        assert printed or complained, "what is hostile is shown in other characters, not left out with all else"


# Any value in any place.


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, name) for name, _ in attrs} | {(tag, "")}


VALUES: tuple[object, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    10**300,
    10**399,
    2**63,
    "",
    "x",
    EVIL,
    "\x00",
    "../../etc/passwd",
    "/dev/zero",
    "9" * 5000,
    [],
    {},
    [[]],
    [None],
    {"a": {}},
    {EVIL: 1.0},
    [1, 2, 3],
    [EVIL],
    "2024-01-01",
    "9999-12-31T23:59:59+00:00",
    "private",
    "scored",
    "void",
    "deferred",
    "error",
    "rejected",
    "equity-forecast",
    "assistant",
    "system",
    DEEP[:2_000],
)


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Where in a document there are values."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, found in inner:
        yield from places(found, (*path, key))


def changed(document: object, path: tuple[object, ...], value: object) -> object:
    """The document with a value in some place, or without what is there."""
    if not path:
        return value
    whole = copy.deepcopy(document)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]  # type: ignore[index]
    if value is VALUES:
        del inner[path[-1]]  # type: ignore[attr-defined]
    else:
        inner[path[-1]] = value  # type: ignore[index]
    return whole


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_run(tmp_path_factory.mktemp("model"))


@pytest.mark.timeout(300)
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_value_in_any_place_ends_in_a_message(model: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "runs" / "r1"
        shutil.copytree(model, folder)
        for name in data.draw(
            st.sets(st.sampled_from(("result.json", "trajectory.json", "config.json", "actions.jsonl")), min_size=1),
            "files",
        ):
            document = json.loads((folder / name).read_text())
            for _ in range(data.draw(st.integers(1, 2), "changes")):
                where = data.draw(st.sampled_from(list(places(document))), "where")
                what = data.draw(st.sampled_from((*VALUES, VALUES)), "what")
                document = changed(document, where, None if what is VALUES and not where else what)
            (folder / name).write_text(json.dumps(document))
        command = data.draw(st.sampled_from(COMMANDS), "command")
        run(command, folder, Path(place) / "out")
        for page in Path(place).rglob("*.html"):
            assert not _of_strangers(page.read_text())


def test_html_in_every_text_of_a_result_is_text(folder: Path, tmp_path: Path) -> None:
    document = json.loads((folder / "result.json").read_text())
    texts = {
        key: EVIL
        for key, value in document.items()
        if isinstance(value, str) and key not in {"rollout_id", "state", "path", *WORDS}
    }
    texts |= {"metrics": {EVIL: 1.0}, "flags": [EVIL]}
    (folder / "result.json").write_text(json.dumps(document | texts))
    for command in COMMANDS:
        run(command, folder, tmp_path / "out")
    assert EVIL[8:13] in (tmp_path / "out" / "page.html").read_text()
    assert not _of_strangers((tmp_path / "out" / "page.html").read_text())


WORDS = ("tape", "split", "boundary", "policy", "disclosure", "direction", "verdict", "isolation")


def _of_strangers(page: str) -> set[tuple[str, str]]:
    tags = _Tags()
    tags.feed(page)
    assert "<script>alert" not in page
    return tags.found & {("img", "onerror"), ("img", "")}
