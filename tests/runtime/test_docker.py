"""The docker backend on a real engine: every limit, every hostile program, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException

from openfingym.errors import BackendUnavailableError, RuntimeFailureError
from openfingym_runtime.docker import container as docker_container
from openfingym_runtime.docker import images
from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.docker.engine import require
from openfingym_runtime.docker.output import Output
from tests.owned_folders import owned_folders

pytestmark = pytest.mark.docker
HOSTILE = sorted((Path(__file__).parent / "hostile").glob("*.py"))
LIMITED = {"fill_memory", "never_end", "print_flood"}


@pytest.fixture(scope="module")
def engine():
    try:
        client = docker.from_env()
    except DockerException as error:
        pytest.skip(f"no Docker engine answers: {error}")
    yield client
    client.close()


@pytest.fixture(scope="module")
def backend(engine):
    images.ensure_agent_image()
    backend = DockerBackend()
    backend.check()
    return backend


def ours(engine) -> list[str]:
    """Names of containers of this process."""
    owner = docker_container.owner_id()
    return [
        found.name
        for found in engine.containers.list(all=True, filters={"label": f"{docker_container.OWNER_LABEL}={owner}"})
    ]


@pytest.fixture(autouse=True)
def nothing_left(request):
    """No test leaves a container or a folder."""
    engine = request.getfixturevalue("engine")
    before = set(owned_folders())
    yield
    assert ours(engine) == []
    assert set(owned_folders()) == before


def test_a_program_finds_its_world_and_nothing_else_in_its_environment(backend, make_job):
    program = """
        import os, pathlib, sys
        print(sorted(os.environ), os.getcwd(), pathlib.Path("/task/interface.py").read_text().strip())
        import interface
        print(interface.SHAPE, os.listdir("/work"), os.environ["OPENFINGYM_SEED"], file=sys.stderr)
        sys.exit(3)
    """
    outcome = backend.run(make_job(textwrap.dedent(program)))
    assert (outcome.ended_by, outcome.exit_code) == ("exit", 3)
    names = [
        "HOME",
        "LANG",
        "LOGNAME",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OMP_WAIT_POLICY",
        "OPENBLAS_NUM_THREADS",
        "OPENFINGYM_DEADLINE",
        "OPENFINGYM_ROLLOUT",
        "OPENFINGYM_SEED",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPATH",
        "PYTHONUNBUFFERED",
        "TMPDIR",
        "TZ",
    ]
    assert outcome.output.decode() == f"{names} /work SHAPE = (2, 1, 1)\n(2, 1, 1) [] 0\n"
    assert 0 < outcome.wall_s < 30


def test_what_the_image_sets_is_taken_away():
    entries = docker_container.environment(
        {"PATH": "/bin", "TZ": "UTC"}, ["PATH=/x", "GPG_KEY=1", "PYTHON_VERSION=3.11"]
    )
    assert entries == ["PATH=/bin", "TZ=UTC", "GPG_KEY", "HOSTNAME", "PYTHON_VERSION"]


def test_the_numerical_libraries_work(backend, make_job):
    program = """
        import os
        import arch, lightgbm, numpy as np, pandas, statsmodels.api as sm
        from sklearn.linear_model import Ridge
        x = np.random.default_rng(0).standard_normal((400, 3))
        y = x @ [1.0, 2.0, 3.0]
        assert abs(Ridge(1e-6).fit(x, y).coef_ - [1, 2, 3]).max() < 1e-6
        assert abs(sm.OLS(y, x).fit().params - [1, 2, 3]).max() < 1e-6
        lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(x, y), 5).predict(x)
        arch.arch_model(100 * x[:, 0]).fit(disp="off")
        from concurrent.futures import ProcessPoolExecutor
        import multiprocessing
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            assert list(pool.map(abs, [-1, -2])) == [1, 2]
        import os.path, statsmodels, sklearn
        root = os.path.dirname(os.path.dirname(arch.__file__))
        folders = [files for part in ("arch/data", "statsmodels/datasets") for _, _, files in os.walk(f"{root}/{part}")]
        data = [name for files in folders for name in files if not name.endswith((".py", ".pyc"))]
        assert data == [], data
        print("fitted")
    """
    outcome = backend.run(make_job(textwrap.dedent(program), memory_mb=2048))
    assert outcome.output.decode().endswith("fitted\n")
    assert outcome.exit_code == 0


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem) for path in HOSTILE if path.stem not in LIMITED | {"walk"}]
)
@pytest.mark.usefixtures("processes_shown")
def test_hostile_programs_are_contained(backend, make_job, upstream, keeper, path):
    with keeper.open(rollout_id="r-test", token="t") as gate:
        outcome = backend.run(
            make_job(path.read_text(), gate.directory, memory_mb=256 if "memory" in path.stem else 1024)
        )
    text = outcome.output.decode(errors="replace")
    assert "BREACH" not in text
    if path.stem == "fill_memory_children" and outcome.ended_by == "memory":
        return
    assert text.splitlines()[-1] == "CONTAINED", text
    assert (outcome.ended_by, outcome.exit_code) == ("exit", 0)
    assert {seen.path for seen in upstream.seen} <= {"/v1/task", "/v1/rollout", "/v1/submissions"}


def hostile(name: str) -> str:
    return next(path for path in HOSTILE if path.stem == name).read_text()


def test_memory_limit(backend, make_job):
    outcome = backend.run(make_job(hostile("fill_memory"), memory_mb=256))
    assert (outcome.ended_by, outcome.exit_code) == ("memory", None)
    assert b"BREACH" not in outcome.output


def test_time_limit(backend, make_job):
    outcome = backend.run(make_job(hostile("never_end"), timeout_s=1.5))
    assert (outcome.ended_by, outcome.exit_code) == ("timeout", None)
    assert 1.5 <= outcome.wall_s < 30


def test_time_limit_of_a_program_that_closed_its_output(backend, make_job):
    outcome = backend.run(make_job("import os, time\nos.close(1); os.close(2)\ntime.sleep(60)\n", timeout_s=2.5))
    assert outcome.ended_by == "timeout"
    assert outcome.wall_s < 30


def test_output_limit(backend, make_job):
    outcome = backend.run(make_job(hostile("print_flood"), output_bytes=100_000))
    assert (outcome.ended_by, outcome.exit_code) == ("output", None)
    assert len(outcome.output) == 100_000
    assert outcome.wall_s < 30


def test_output_of_exactly_the_limit_is_allowed(backend, make_job):
    outcome = backend.run(make_job("import sys; sys.stdout.write('x' * 50_000)", output_bytes=50_000))
    assert (outcome.ended_by, len(outcome.output)) == ("exit", 50_000)


def test_cancelling(backend, make_job):
    job = make_job(hostile("never_end"))
    threading.Timer(0.7, job.cancel.set).start()
    outcome = backend.run(job)
    assert outcome.ended_by == "cancelled"
    assert outcome.wall_s < 30


def test_signals_and_crashes_are_reported(backend, make_job):
    assert backend.run(make_job("import os; os.kill(os.getpid(), 9)")).exit_code == -signal.SIGKILL
    assert backend.run(make_job("import os; os.abort()")).exit_code == -signal.SIGABRT
    failed = backend.run(make_job("raise RuntimeError('broken')"))
    assert failed.exit_code == 1
    assert b"RuntimeError: broken" in failed.output
    assert backend.run(make_job("def (")).exit_code == 1
    assert b"SyntaxError" in backend.run(make_job("x = '\ud800'")).output


def needles(rows: list[bytes]) -> bytes:
    return b"".join(len(row).to_bytes(4, "little") + bytes(byte ^ 0x5A for byte in row) for row in rows)


SECRET = [4.237519862034117, -0.01903746520918273, 3.141520975318246]
FINGERPRINTS = [
    struct.pack("<2d", *SECRET[:2]),
    struct.pack("<d", SECRET[2]),
    *(repr(value).encode() for value in SECRET),
    b"4.2375,-0.0190,3.1415",
]


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Secret rows where a launcher has them: in a truth folder beside the public one, and in its environment."""
    truth = tmp_path / "store" / "truth"
    truth.mkdir(parents=True, mode=0o700)
    (truth / "targets.npy").write_bytes(struct.pack("<3d", *SECRET))
    (truth / "truth.csv").write_text("4.2375,-0.0190,3.1415\n" + ",".join(map(repr, SECRET)))
    monkeypatch.setenv("OPENFINGYM_TEST_TRUTH", ",".join(map(repr, SECRET)))


@pytest.mark.usefixtures("processes_shown")
def test_a_walk_through_everything_visible_finds_no_hidden_row(backend, make_job, keeper, task_files, planted):
    (task_files["data"].parent / "needles.bin").write_bytes(needles(FINGERPRINTS))
    task_files["needles.bin"] = task_files["data"].parent / "needles.bin"
    with keeper.open(rollout_id="r-test", token="the-secret-token") as gate:
        outcome = backend.run(make_job(hostile("walk"), gate.directory, output_bytes=1 << 22))
    text = outcome.output.decode()
    assert text.splitlines()[-1] == "CONTAINED", text[-3000:]
    assert f"searched for {len(FINGERPRINTS)} needles" in text
    assert "the-secret-token" not in text
    assert not any(row in outcome.output for row in FINGERPRINTS)


@pytest.mark.usefixtures("processes_shown")
def test_the_walk_does_find_a_row_that_leaks(backend, make_job, task_files):
    (task_files["data"].parent / "needles.bin").write_bytes(needles(FINGERPRINTS))
    task_files["needles.bin"] = task_files["data"].parent / "needles.bin"
    (task_files["data"] / "leak.bin").write_bytes(b"\x00" * 5 + struct.pack("<3d", *SECRET))
    text = backend.run(make_job(hostile("walk"), output_bytes=1 << 22)).output.decode()
    assert "BREACH: needle 0 in /task/data/leak.bin" in text


def test_modes_under_private_parents(backend, make_job, task_files):
    """Files of 0644 below a folder of 0700 can be read inside; a file of 0600 is our mistake, not the agent's."""
    outcome = backend.run(make_job("print(open('/task/data/contract.json').read())"))
    assert b"tiny" in outcome.output
    (task_files["data"] / "contract.json").chmod(0o600)
    with pytest.raises(RuntimeFailureError, match="0600"):
        backend.run(make_job("print(1)"))


def test_sixteen_at_once(backend, make_job, keeper):
    def one(number: int) -> bytes:
        with keeper.open(rollout_id=f"r{number}", token=f"t{number}") as gate:
            return backend.run(make_job(f"print({number})", gate.directory, memory_mb=256)).output

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(16))) == [f"{number}\n".encode() for number in range(16)]


LAUNCHER = """
import sys
from pathlib import Path
from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.job import Job, Limits

name, task = sys.argv[1], Path(sys.argv[2])
with GateKeeper(Path("/nonexistent.sock")) as keeper, keeper.open(rollout_id=name, token="t") as gate:
    limits = Limits(300, 256, 1, 32, 16, 1000)
    job = Job(name, "import time; time.sleep(300)", {"interface.py": task}, gate.directory, limits)
    DockerBackend().run(job)
"""


@pytest.fixture
def launcher(backend, task_files):
    """A launcher of its own process, and the name of its rollout."""
    name = f"orphan-{uuid.uuid4().hex}"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LAUNCHER, name, str(task_files["interface.py"])]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        yield process, name
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_launcher_that_is_stopped_leaves_nothing(engine, launcher, how):
    process, name = launcher

    def orphans() -> list[str]:
        found = engine.api.containers(all=True, filters={"label": f"{docker_container.ROLLOUT_LABEL}={name}"})
        return [container["State"] for container in found]

    until = time.monotonic() + 30
    while orphans() != ["running"] and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert orphans() == ["running"]
    DockerBackend().reap()
    assert orphans() == ["running"], "a living launcher's container must stay"
    process.send_signal(how)
    process.wait(20)
    if how == signal.SIGKILL:
        assert len(orphans()) == 1  # ended, or about to
        assert len(owned_folders(process.pid)) == 3  # its gates, its program, and its view of the task
        DockerBackend().check()  # what every launcher does first
    assert orphans() == []
    assert owned_folders(process.pid) == []


def test_interrupted_while_creating(backend, make_job, engine, monkeypatch):
    """Ctrl-C at the worst moment: the engine has the request, and we have no answer."""
    create = docker.APIClient.create_container_from_config

    def interrupted(self, config, name):
        create(self, config, name)
        raise KeyboardInterrupt

    monkeypatch.setattr(docker.APIClient, "create_container_from_config", interrupted)
    with pytest.raises(KeyboardInterrupt):
        backend.run(make_job("print(1)"))
    assert ours(engine) == []


def test_an_engine_that_refuses_is_ours(backend, make_job):
    with pytest.raises(RuntimeFailureError, match="engine"):
        backend.run(make_job("print(1)", memory_mb=1))  # below the engine's minimum
    job = replace(make_job("print(1)"), task_files={"a.py": Path("/nonexistent/missing.py")})
    with pytest.raises(RuntimeFailureError, match=r"missing\.py"):
        backend.run(job)


def test_check_says_what_is_missing(engine, monkeypatch):
    with pytest.raises(BackendUnavailableError, match="openfingym image build"):
        DockerBackend("openfingym-agent:no-such-tag").check()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(BackendUnavailableError, match="no Docker engine answers"):
        DockerBackend().check()


GOOD = {
    "OSType": "linux",
    "SecurityOptions": ["name=seccomp,profile=default"],
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SwapLimit": True,
    "KernelVersion": "6.1.0",
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"SecurityOptions": []}, "seccomp"),
        ({"MemoryLimit": False}, "memory"),
        ({"PidsLimit": False}, "processes"),
        ({"CpuCfsQuota": False}, "CPU"),
        ({"OperatingSystem": "Docker Desktop"}, "virtual machine"),
    ],
)
def test_an_engine_without_a_promise_is_refused(change, message):
    require(GOOD)
    with pytest.raises(BackendUnavailableError, match=message):
        require(GOOD | change)


def test_a_remote_engine_is_refused(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    with pytest.raises(BackendUnavailableError, match="on this machine"):
        require(GOOD)


def test_frames_are_put_together_however_they_are_cut():
    frames = b"".join(
        bytes([kind, 0, 0, 0]) + struct.pack(">L", len(part)) + part
        for kind, part in ((1, b"abc"), (2, b""), (2, b"defgh"), (1, b"i"))
    )
    for size in range(1, len(frames) + 1):
        output = Output(limit=100)
        assert all(output.feed(frames[at : at + size]) for at in range(0, len(frames), size))
        assert output.data == b"abcdefghi"
    output = Output(limit=4)
    assert not output.feed(frames)
    assert output.data == b"abcd"


def test_the_image_holds_only_what_it_should(backend, engine):
    history = engine.images.get(images.agent_image_tag()).history()
    text = "\n".join(step["CreatedBy"] for step in history)
    assert "pem" not in text
    assert "PIP_" not in text
    environment = engine.images.get(images.agent_image_tag()).attrs["Config"]["Env"]
    assert Counter(entry.partition("=")[0] for entry in environment)["PYTHONPATH"] == 1
    assert not any("PIP" in entry or "PROXY" in entry.upper() or "CERT" in entry for entry in environment)


@pytest.mark.parametrize(
    "program", ["import time; time.sleep(60)", "import os, time; os.close(1); os.close(2); time.sleep(60)"]
)
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_a_container_stopped_from_outside_is_ours_however_its_program_ends(backend, make_job, engine, program, how):
    """Asked to end, a program may do so as if it were done."""
    polite = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); " + program

    def stop() -> None:
        while not (
            found := engine.containers.list(
                filters={"label": f"{docker_container.OWNER_LABEL}={docker_container.owner_id()}"}
            )
        ):
            time.sleep(0.05)
        with contextlib.suppress(DockerException):  # it is gone
            while True:  # its first process may not listen yet
                found[0].kill(signal=how)
                time.sleep(0.2)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(RuntimeFailureError, match="killed from outside"):
        backend.run(make_job(polite))
    thread.join()
