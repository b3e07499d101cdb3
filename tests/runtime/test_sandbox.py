"""The world inside the sandbox: who the program is, what it sees, and that ordinary work runs."""

from __future__ import annotations

import contextlib
import http.server
import importlib.metadata
import json
import os
import socketserver
import sysconfig
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from openfingym.errors import BackendUnavailableError, RuntimeFailureError
from openfingym_runtime import users
from openfingym_runtime.job import Job, Limits, Outcome
from openfingym_runtime.sandbox import SandboxBackend
from openfingym_runtime.sandbox.python_view import _recorded, python_view

pytestmark = pytest.mark.sandbox

LIMITS = Limits(timeout_s=60, memory_mb=1024, cpus=1, pids=64, storage_mb=32, output_bytes=1 << 20)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job with a task file and a task folder, under a folder that only its owner may enter."""
    store = tmp_path / "store"
    data = store / "data"
    data.mkdir(parents=True)
    (store / "instruction.md").write_text("forecast")
    (data / "train.csv").write_text("1,2,3")
    gate = store / "gate"
    gate.mkdir()
    for path in (store / "instruction.md", data / "train.csv"):
        path.chmod(0o644)
    data.chmod(0o755)
    gate.chmod(0o755)
    store.chmod(0o700)
    return Job("rollout-1", "", {"instruction.md": store / "instruction.md", "data": data}, gate, LIMITS, seed=7)


@pytest.fixture
def run(job: Job) -> Callable[[str], Outcome]:
    def run(program: str) -> Outcome:
        return SandboxBackend().run(replace(job, program=textwrap.dedent(program)))

    return run


@pytest.fixture
def report(run: Callable[[str], Outcome]) -> Callable[[str], object]:
    """Run a program that prints one JSON document, and return it."""

    def report(program: str) -> object:
        outcome = run("import json, os\n" + textwrap.dedent(program))
        assert (outcome.ended_by, outcome.exit_code) == ("exit", 0), outcome.output.decode()
        return json.loads(outcome.output)

    return report


def test_the_machine_keeps_the_promises() -> None:
    SandboxBackend().check()


def test_exit_code_and_interleaved_output(run: Callable[[str], Outcome]) -> None:
    outcome = run("import sys; print('one'); print('two', file=sys.stderr); print('three'); sys.exit(7)")
    assert (outcome.ended_by, outcome.exit_code) == ("exit", 7)
    assert outcome.output == b"one\ntwo\nthree\n"
    assert 0 < outcome.wall_s < 30


def test_a_signal_is_a_negative_exit_code(run: Callable[[str], Outcome]) -> None:
    assert run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").exit_code == -11


@pytest.mark.usefixtures("processes_shown")
def test_the_program_holds_no_rights(report: Callable[[str], object]) -> None:
    status = report(
        "print(json.dumps(dict(line.rstrip('\\n').split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in "
        "line)))"
    )
    assert isinstance(status, dict)
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["Seccomp"] == "2"
    assert status["NoNewPrivs"] == "1"
    assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65534"}
    assert status["Groups"].split() == [] or os.geteuid() != 0


def test_on_the_host_it_is_an_unprivileged_user(run: Callable[[str], Outcome], job: Job) -> None:
    uids: dict[int, int] = {}
    others = set(psutil.Process().children(recursive=True))

    def look() -> None:
        # The last look counts: what is to become a program begins as whoever starts it.
        while not stop.wait(0.02):
            for process in set(psutil.Process().children(recursive=True)) - others:
                with contextlib.suppress(psutil.Error):
                    if "/agent/program.py" in process.cmdline():
                        uids[process.pid] = process.uids().real

    stop = threading.Event()
    thread = threading.Thread(target=look)
    thread.start()
    try:
        SandboxBackend().run(replace(job, rollout_id="kuid-probe", program="import time; time.sleep(2)"))
    finally:
        stop.set()
        thread.join()
    assert uids
    if os.geteuid() == 0:
        assert all(users.FIRST <= uid < users.FIRST + users.COUNT for uid in uids.values())
    else:
        assert set(uids.values()) == {os.geteuid()}


def test_the_environment_is_exactly_the_promised_one(
    report: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", "hunter2")
    environment = report("print(json.dumps(dict(os.environ)))")
    assert isinstance(environment, dict)
    assert "hunter2" not in str(environment)
    assert environment["OPENFINGYM_SEED"] == "7"
    assert environment["PYTHONPATH"] == "/task:/opt/agent/site-packages"
    assert not {name for name in environment if name.startswith("OPENFINGYM_")} - {
        "OPENFINGYM_DEADLINE", "OPENFINGYM_ROLLOUT", "OPENFINGYM_SEED",
    }  # fmt: skip


def test_task_files_are_there_and_read_only(run: Callable[[str], Outcome]) -> None:
    outcome = run("""
        import os
        print(open("/task/instruction.md").read(), open("/task/data/train.csv").read(), sorted(os.listdir("/task")))
        task = ("/task/instruction.md", "/task/data/train.csv", "/task/new")
        for path in (*task, "/agent/program.py", "/usr/new", "/run/openfingym/new"):
            try:
                open(path, "a")
                print("WROTE", path)
            except OSError:
                pass
        open("/work/out", "w").write("x"), open("/tmp/out", "w").write("x"), open("/dev/null", "w").write("x")
    """)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output == b"forecast 1,2,3 ['data', 'instruction.md']\n"


@pytest.mark.usefixtures("processes_shown")
def test_only_listed_mounts_and_no_host_process(report: Callable[[str], object]) -> None:
    seen = report("""
        places = ["/", "/work", "/tmp", "/dev/shm", "/proc", "/task", "/agent", "/usr", "/dev/null", "/run/openfingym",
                  "/opt/agent/site-packages/numpy", os.path.dirname(os.__file__)]
        listed = os.listdir("/proc")
        print(json.dumps({"flags": {path: os.statvfs(path).f_flag for path in places},
                          "mounts": open("/proc/self/mountinfo").read(),
                          "pids": sorted(name for name in listed if name.isdigit()), "root": sorted(os.listdir("/")),
                          "proc": sorted(name for name in listed if not name.isdigit()), "host": os.uname().nodename}))
    """)
    assert isinstance(seen, dict)
    assert {path for path, flags in seen["flags"].items() if not flags & os.ST_RDONLY} == {
        "/work",
        "/tmp",
        "/dev/shm",
        "/proc",
    }
    assert all(flags & os.ST_NOSUID for flags in seen["flags"].values())
    assert seen["mounts"] == ""
    assert seen["pids"] == ["2"]
    assert seen["proc"] == ["self", "thread-self"]
    assert not set(seen["root"]) & {"sys", "home", "boot", "var", "mnt", ".old"}
    assert seen["host"] == "openfingym"


def test_nothing_of_ours_but_the_client_is_visible(report: Callable[[str], object]) -> None:
    found = report("""
        print(json.dumps([os.path.join(top, name) for top, folders, files in os.walk("/")
                          for name in folders + files if "openfingym" in name.lower()]))
    """)
    assert isinstance(found, list)
    allowed = ("/opt/agent/site-packages/openfingym_agent", "/run/openfingym")
    assert [path for path in found if not path.startswith(allowed)] == []
    assert "/opt/agent/site-packages/openfingym_agent" in found


def test_no_bind_covers_this_project_or_a_folder_of_packages() -> None:
    here = Path(__file__).resolve()
    shown = [(Path(real), inside) for real, inside in python_view().binds if not inside.endswith("/openfingym_agent")]
    assert len(shown) > 20
    assert [real for real, _inside in shown if real in here.parents or "openfingym" in str(real)] == []
    library = Path(sysconfig.get_path("purelib")).resolve()
    assert [
        real
        for real, inside in shown
        if real in library.parents and f"{real}/site-packages" not in python_view().hidden
    ] == []


def test_a_distribution_without_a_record_is_listed_by_its_top_level_names(tmp_path: Path) -> None:
    info = tmp_path / "old-1.0.dist-info"
    (tmp_path / "old" / "sub").mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: old\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("old\n")
    (tmp_path / "old" / "sub" / "x.py").touch()
    assert _recorded(importlib.metadata.Distribution.at(info)) == ["old/sub/x.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's programs run as that user, who may read the file")
def test_an_unreadable_task_file_is_our_failure(job: Job) -> None:
    job.task_files["instruction.md"].chmod(0o600)
    with pytest.raises(RuntimeFailureError, match="readable by all"):
        SandboxBackend().run(job)


def test_packaged_market_data_is_masked(report: Callable[[str], object]) -> None:
    pytest.importorskip("arch")
    sizes = report("""
        import arch, statsmodels.api
        tops = [os.path.dirname(arch.__file__) + "/data", os.path.dirname(statsmodels.__file__) + "/datasets"]
        found = [(top, name) for start in tops for top, _folders, files in os.walk(start) for name in files]
        data = [os.path.join(*place) for place in found if not place[1].endswith((".py", ".pyc"))]
        print(json.dumps([os.path.getsize(path) for path in data]))
    """)
    assert isinstance(sizes, list)
    assert len(sizes) > 20
    assert set(sizes) == {0}


def test_the_science_stack_works(report: Callable[[str], object]) -> None:
    pytest.importorskip("lightgbm")
    fitted = report("""
        import numpy, pandas, scipy.stats, statsmodels.api, lightgbm, arch
        from sklearn.linear_model import Ridge
        x = numpy.random.default_rng(0).normal(size=(200, 3))
        lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(x, x[:, 0])
        print(json.dumps(Ridge(alpha=1e-9).fit(x, x @ [1.0, -2.0, 3.0]).coef_.tolist()))
    """)
    assert fitted == pytest.approx([1.0, -2.0, 3.0])


def test_processes_and_threads_work(report: Callable[[str], object]) -> None:
    answer = report("""
        import concurrent.futures, multiprocessing, threading
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                doubled = pool.map((2).__mul__, [1, 2, 3])
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                print(json.dumps([doubled, list(pool.map(abs, [-1, -2]))]))
    """)
    assert answer == [[2, 4, 6], [1, 2]]


class _Gate(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(body[::-1])

    def log_message(self, *arguments: object) -> None:
        """Be quiet."""


@pytest.fixture
def gate(job: Job) -> Iterator[Path]:
    path = job.gate_directory / "gate.sock"
    here = Path.cwd()
    # A relative path, because a socket's address holds 108 bytes.
    os.chdir(job.gate_directory)
    try:
        server = _Gate("gate.sock", _Handler)
    finally:
        os.chdir(here)
    path.chmod(0o666)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield path
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("gate")
def test_the_gate_is_the_way_out(run: Callable[[str], Outcome]) -> None:
    outcome = run("""
        import http.client, socket
        class Connection(http.client.HTTPConnection):
            def connect(self):
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect("/run/openfingym/gate.sock")
        connection = Connection("gate")
        connection.request("POST", "/v1/submissions", b"abc")
        answer = connection.getresponse()
        print(answer.status, answer.read())
    """)
    assert outcome.output == b"201 b'cba'\n"


@pytest.mark.parametrize("name", ["../etc/shadow", "a/../../b", "a//b"])
def test_a_task_file_cannot_be_named_out_of_its_folder(job: Job, name: str) -> None:
    with pytest.raises(RuntimeFailureError, match="not a plain path"):
        SandboxBackend().run(replace(job, task_files={name: job.task_files["instruction.md"]}))


def test_a_missing_task_file_is_our_failure(job: Job, tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailureError, match="No such file"):
        SandboxBackend().run(replace(job, task_files={"x": tmp_path / "absent"}))


def test_another_system_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(BackendUnavailableError, match="needs Linux"):
        SandboxBackend().check()


def test_an_unknown_machine_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(BackendUnavailableError, match="riscv64"):
        SandboxBackend().check()
