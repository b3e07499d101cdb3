"""Whole rollouts: a program in real isolation, a real verifier process, results on disk."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

import openfingym
from openfingym.agents import Agent, resolve
from openfingym.cli import main
from openfingym.errors import UsageError, VerifierError
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts import RolloutSpec
from openfingym.rollouts.launcher import Launcher
from openfingym.verifiers import VerifierAddress
from openfingym.verifiers.client import RolloutTicket, VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier

ROOT = Path(__file__).resolve().parent.parent
ISOLATED = [pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture(scope="module", params=ISOLATED)
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    with Launcher.for_tasks(["treasury-forecast", "fx-forecast"], backend=request.param) as launcher:
        yield launcher


def program(source: str) -> Agent:
    return Agent("test", "program", source)


NAIVE = "np.repeat(window.inputs[:, -1:, :], interface.HORIZON, axis=1)"
WINDOWS = "import interface, numpy as np\nfor window in interface.iter_test():\n"


@pytest.fixture(scope="module")
def scores() -> dict[tuple[str, str], float]:
    """Ridge scores by (backend, task), to compare the backends with one another."""
    return {}


def test_ridge_scores_and_its_run_can_be_read_by_another_program(
    launcher: Launcher, tmp_path: Path, scores: dict[tuple[str, str], float]
) -> None:
    for package in launcher.packages:
        result = launcher.run(package, resolve("ridge"), out=tmp_path)
        assert result.state == "scored", result
        assert result.total is not None
        assert result.path is not None
        config = json.loads((result.path / "config.json").read_text())
        stored = json.loads((result.path / "result.json").read_text())
        assert stored["total"] == result.total
        assert config["task_digest"] == package.manifest.digest
        assert b"penalty" in (result.path / "output.log").read_bytes()
        submitted = np.load(result.path / "submissions" / "1.npy")
        assert submitted.shape == package.manifest.submission_shape
        events = [json.loads(line)["entry"]["event"] for line in (result.path / "log.jsonl").read_text().splitlines()]
        assert events[0] == "rollout-created"
        assert events[-1] == "finalized"
        scores[result.backend, result.task] = result.total
    for (backend, task), total in scores.items():
        if backend == "docker" and ("sandbox", task) in scores:
            assert scores["sandbox", task] == pytest.approx(total, rel=1e-9), (
                "the same program scores the same wherever it runs"
            )


LOOK_AROUND = """
import importlib, json, platform
names = {"numpy": "numpy", "pandas": "pandas", "scipy": "scipy", "scikit-learn": "sklearn"}
versions = {name: importlib.import_module(module).__version__ for name, module in names.items()}
print(json.dumps({"python": platform.python_version(), "machine": platform.machine(), "packages": versions}))
"""


def test_a_run_says_by_digest_what_it_was_made_of(launcher: Launcher, tmp_path: Path) -> None:
    package, agent = launcher.packages[0], program(LOOK_AROUND)
    result = launcher.run(package, agent, out=tmp_path)
    assert result.path is not None
    config = json.loads((result.path / "config.json").read_text())
    assert config["program_sha256"] == hashlib.sha256(LOOK_AROUND.encode()).hexdigest()
    assert config["agent_digest"] == RolloutSpec("t", "d", agent).inputs["agent_digest"]
    assert config["family"] == package.task.spec.family
    environment = config["environment"]
    if result.backend == "docker":
        inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", environment["image"]]
        assert (
            subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()
            == environment["image_id"]
        )
        assert environment["image_id"] == f"sha256:{environment['digest']}"
    else:
        seen = json.loads((result.path / "output.log").read_bytes())
        assert seen.pop("packages").items() <= environment["packages"].items()
        assert seen.items() <= environment.items()
        assert re.fullmatch("[0-9a-f]{64}", environment["digest"])
    again = launcher.run(package, resolve("oracle"), out=tmp_path)
    assert again.path is not None
    assert json.loads((again.path / "config.json").read_text())["environment"] is None, "nothing ran anywhere"


def test_the_oracle_is_best_and_nop_is_rejected(launcher: Launcher) -> None:
    package = launcher.packages[0]
    naive = launcher.run(package, resolve("naive"))
    oracle = launcher.run(package, resolve("oracle"))
    nop = launcher.run(package, resolve("nop"))
    assert naive.total == pytest.approx(naive.baseline_total)
    assert oracle.total == 0.0
    assert naive.relative_total == pytest.approx(1.0)
    assert oracle.skill == 0.99, "each metric's ratio is held above 0.01"
    assert (nop.state, nop.total) == ("rejected", None)
    assert nop.reason is not None
    assert "no window" in nop.reason


REJECTED = {
    "crash": ("import interface\nraise ValueError('bad luck')", ["status 1", "ValueError: bad luck"]),
    "syntax": ("def broken(:", ["status 1", "SyntaxError"]),
    "wrong shape": (f"{WINDOWS}    window.predict(np.zeros((3, 3)))", ["(1, 5, 6)", "(3, 3)"]),
    "nan": (f"{WINDOWS}    p = {NAIVE}\n    p[0, 2, 1] = np.nan\n    window.predict(p)", ["finite"]),
    "huge": (f"{WINDOWS}    p = {NAIVE}\n    p[0, 0, 0] = 1e308\n    window.predict(p)", ["[-5, 30]", "1e+308"]),
    "nothing": ("print('hello')", ["no window"]),
    "array": (
        "import interface, numpy as np\ninterface.submit(np.zeros(interface.SUBMISSION_SHAPE))",
        ["interface.iter_test()"],
    ),
    "all at once": ("import interface\ninterface.load_test_inputs()", ["interface.iter_test()"]),
    "no answer": (f"{WINDOWS}    pass", ["window 0 has no answer yet", "97 of 97 windows"]),
    "half a walk": (f"{WINDOWS}    window.predict({NAIVE})\n    if window.left == 90: break", ["89 of 97 windows"]),
}


@pytest.mark.parametrize("case", REJECTED)
def test_the_agents_fault_is_rejected_with_the_reason(case: str, launcher: Launcher) -> None:
    source, expected = REJECTED[case]
    result = launcher.run(launcher.packages[0], program(source))
    assert result.state == "rejected"
    assert result.total is None
    for part in expected:
        assert part in str(result.reason), result.reason


def test_a_program_goes_on_at_the_first_window_without_an_answer(launcher: Launcher) -> None:
    """Another walk of the same program, and a crash once all is answered, change nothing of what counts."""
    source = (
        f"{WINDOWS}    window.predict({NAIVE})\n    if window.left == 90: break\n"
        f"for window in interface.iter_test():\n    window.predict({NAIVE})\n"
        "print(window.number, window.left)\nraise SystemExit(9)"
    )
    result = launcher.run(launcher.packages[0], program(source))
    assert result.state == "scored"
    assert result.total == pytest.approx(result.baseline_total)
    assert (result.submissions_accepted, result.exit_code) == (1, 9)


def test_the_budget_of_practice_ends(launcher: Launcher, tmp_path: Path) -> None:
    source = (
        "import interface, numpy as np\n"
        "last = lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1)\n"
        "for k in range(5): print(interface.predict_each(lambda x: last(x) + 0.1 * k, practice=True))\n"
        "try: interface.predict_each(last, practice=True)\n"
        "except Exception as error: print('SIXTH', error)\n"
        "print(interface.predict_each(last))\n"
    )
    result = launcher.run(launcher.packages[0], program(source), out=tmp_path)
    assert (result.state, result.submissions_accepted) == ("scored", 1)
    assert result.path is not None
    said = (result.path / "output.log").read_text().splitlines()
    assert len(said) == 7, "five results, that there are no more, and that the last walk has none yet"
    assert said[5:] == ["SIXTH All 5 practice episodes of this rollout have been begun.", "None"]


def test_feedback_is_public_rounded_and_clipped(launcher: Launcher, tmp_path: Path) -> None:
    """What the program is shown, against the public fold's losses recomputed here from the truth."""
    package = launcher.packages[0]
    source = (
        "import interface, numpy as np\n"
        "last = lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1)\n"
        "for model in (last, lambda x: last(x) * 0 + 29.0):\n"
        "    shown = interface.predict_each(model, practice=True)\n"
        "    print('SHOWN', *(f'{name}={value!r}' for name, value in shown.metrics.items()))\n"
        "interface.predict_each(last)\n"
    )
    result = launcher.run(package, program(source), out=tmp_path)
    assert result.path is not None
    lines = [
        line.split()[1:] for line in (result.path / "output.log").read_text().splitlines() if line.startswith("SHOWN")
    ]
    first, second = (
        {name: float(value) for name, _, value in (item.partition("=") for item in line)} for line in lines
    )
    public, truth = slice(package.manifest.n_public), package.read_truth()
    naive = np.repeat(truth["test_inputs"][public, -1:, :], package.manifest.horizon, axis=1)
    error = naive - truth["targets"][public]
    mse = float(np.mean(error**2))
    exact = {"mse": mse, "rmse": mse**0.5, "mae": float(np.mean(np.abs(error)))}
    assert first == {name: float(f"{value:.3g}") for name, value in exact.items()}
    assert first != {name: float(f"{value:.3g}") for name, value in result.metrics.items()}, (
        "it is not the private fold's"
    )
    assert second == dict.fromkeys(exact, 5.0), "a forecast of 29 % is worse than the clip in every loss"


@pytest.fixture
def collected() -> Iterator[None]:
    """Collects a test's garbage while its warnings are still its own."""
    yield
    gc.collect()


# httpcore leaves the socket of a refused unix connection to the garbage collector.
@pytest.mark.usefixtures("collected")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_verifier_that_dies_is_our_error_and_never_a_score(treasury: BuiltPackage, tmp_path: Path) -> None:
    with EmbeddedVerifier.start([treasury]) as verifier:
        address = VerifierAddress(str(verifier.uds), verifier.admin_token)
        with Launcher(
            [treasury], backend="inline", verifiers={treasury.manifest.name: address}, patience_s=0.5
        ) as launcher:
            killer = threading.Timer(0.5, os.kill, (verifier.pid, signal.SIGKILL))
            killer.start()
            sleeper = Agent(
                "sleeper", "program", "import time, interface\ntime.sleep(2)\ninterface.budget()", trusted=True
            )
            result = launcher.run(treasury, sleeper, out=tmp_path)
            killer.join()
            assert (result.state, result.total) == ("error", None)
            assert "verifier" in str(result.reason)
            with pytest.raises(openfingym.OpenFinGymError, match="has no reward"):
                result.reward()
            with pytest.raises(VerifierError, match="cannot be reached"):
                launcher.run(treasury, resolve("naive"), out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [result.rollout_id], "the failed run is kept as evidence"


def test_a_score_whose_evidence_cannot_be_had_is_no_score(
    treasury: BuiltPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(client: VerifierClient, rollout_id: str) -> None:
        raise VerifierError("the verifier cannot be reached")

    with Launcher([treasury]) as launcher:
        assert launcher.run(treasury, resolve("oracle"), out=tmp_path / "whole").state == "scored"
        monkeypatch.setattr(VerifierClient, "rollout_status", silent)
        result = launcher.run(treasury, resolve("oracle"), out=tmp_path / "bare")
    assert (result.state, result.boundary, result.total, result.log_head) == ("error", "verifier", None, None)
    assert result.path is not None
    assert not list((result.path / "submissions").iterdir())


@pytest.mark.parametrize("fault", [httpx.ConnectError, httpx.ConnectTimeout])
def test_a_rollout_is_asked_for_again_where_no_request_arrived(
    fault: type[httpx.TransportError], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = dict.fromkeys((item.name for item in dataclasses.fields(RolloutTicket)), "known")
    answers = iter([fault("the machine is down"), httpx.Response(201, json=ticket)])

    def answer(*_: object, **__: object) -> httpx.Response:
        found = next(answers)
        if isinstance(found, httpx.Response):
            return found
        raise found

    with VerifierClient(base_url="http://verifier", admin_token="x" * 16) as client:
        monkeypatch.setattr(client._connection._http, "request", answer)
        assert client.create_rollout("treasury-forecast").rollout_id == "known"


WALK = (ROOT / "tests" / "runtime" / "hostile" / "walk.py").read_text()


def test_a_program_that_reads_everything_it_can_finds_no_label(launcher: Launcher, tmp_path: Path) -> None:
    """Every readable byte of every file, mount table, environment and process is searched for truth rows, from the
    inside."""
    package: BuiltPackage = launcher.packages[1]
    truth = package.read_truth()["targets"]
    # Searching from inside needs needles that do not give the labels away: hashes of 24-byte runs.
    source = (
        "import hashlib, os\n"
        f"NEEDLES = {sorted(_hashes(truth))!r}\n"
        "WANTED, SIZE, seen, hits = set(NEEDLES), 24, 0, 0\n"
        "def scan(path):\n"
        "    global seen, hits\n"
        "    try:\n"
        "        with open(path, 'rb') as stream: content = stream.read(64_000_000)\n"
        "    except OSError: return\n"
        "    seen += 1\n"
        "    for at in range(0, len(content) - SIZE + 1, 8):\n"
        "        if hash24(content[at:at + SIZE]) in WANTED: hits += 1; print('BREACH', path, at); return\n"
        "def hash24(raw): return hashlib.blake2b(raw, digest_size=8).hexdigest()\n"
        "for top in ('/task', '/agent', '/work', '/tmp', '/run', '/etc', '/opt/agent', '/home', '/root', '/var', "
        "'/mnt', '/srv'):\n"
        "    for folder, _, files in os.walk(top):\n"
        "        for name in files:\n"
        "            path = os.path.join(folder, name)\n"
        "            if os.path.isfile(path) and not path.endswith(('.py', '.pyc', '.so', '.pyi', '.h', '.pxd')): "
        "scan(path)\n"
        "print('SEEN', seen, 'HITS', hits)\n"
    )
    result = launcher.run(package, program(source), out=tmp_path)
    assert result.path is not None
    output = (result.path / "output.log").read_text()
    assert "HITS 0" in output, output
    assert int(output.rpartition("SEEN ")[2].split()[0]) > 5
    walked = launcher.run(package, program(WALK), out=tmp_path)
    assert walked.path is not None
    seen = (walked.path / "output.log").read_bytes()
    assert b"openfingym/data/series" not in seen
    assert b"ecb-fx.csv" not in seen
    assert b"targets.npy" not in seen.replace(b"train_targets.npy", b"")


def _hashes(truth: np.ndarray) -> set[str]:  # type: ignore[type-arg]
    """Hashes of three consecutive hidden float64 values that are not the same number, at 8-byte steps."""
    import hashlib

    flat = truth.reshape(len(truth), -1)
    runs = [row[at : at + 3] for row in flat for at in range(0, row.size - 2, 3)]
    return {hashlib.blake2b(run.tobytes(), digest_size=8).hexdigest() for run in runs if len(set(run.tolist())) == 3}


def test_inline_is_refused_for_a_program_of_ones_own() -> None:
    with (
        Launcher.for_tasks(["treasury-forecast"], backend="inline") as launcher,
        pytest.raises(UsageError, match="isolates nothing"),
    ):
        launcher.run(launcher.packages[0], program("print()"))


def test_inline_runs_the_built_in_agents() -> None:
    result = openfingym.run("treasury-forecast", agent="naive", backend="inline", out=None)
    assert result.state == "scored"
    assert result.total == pytest.approx(result.baseline_total)


def _command(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-c", "from openfingym.cli import main; main()", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def _command_here(arguments: list[str], capsys: pytest.CaptureFixture[str], **variables: str) -> tuple[int, str]:
    """The command line in this process: its status, and what it prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["openfingym", *arguments])
        for name, value in variables.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as stopped:
            main()
    return int(stopped.value.code or 0), capsys.readouterr().out


def test_the_command_line_prints_json_and_a_meaningful_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--out", str(tmp_path), "--json"]
    done = _command(["run", "treasury-forecast", "--agent", "naive", "--backend", "inline", *where], {**os.environ})
    assert (done.returncode, json.loads(done.stdout)[0]["state"]) == (0, "scored")
    rejected = ["run", "treasury-forecast", "--agent", "nop", "--backend", "inline", *where]
    status, said = _command_here(rejected, capsys)
    assert (status, json.loads(said)[0]["state"]) == (3, "rejected")
    status, said = _command_here(["run", "treasury-forecast", "--agent", "script", *where], capsys)
    assert status == 2
    assert "--program" in str(json.loads(said)["error"])


@pytest.mark.sandbox
@pytest.mark.parametrize("example", ["my_first_agent.py"])
def test_the_example_agent_beats_nothing_by_luck_but_is_scored(example: str) -> None:
    result = openfingym.run(
        "treasury-forecast", agent="script", program=ROOT / "examples" / example, backend="sandbox", out=None
    )
    assert result.state == "scored", result


def test_the_quickstart_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "quickstart.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "verified loss" in done.stdout


README = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.sandbox
def test_the_readmes_agent_is_scored(treasury: BuiltPackage) -> None:
    with Launcher([treasury], backend="sandbox") as launcher:
        result = launcher.run(treasury, program(README[0]))
    assert result.total == pytest.approx(result.baseline_total), "it predicts the last value"


def test_the_readmes_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(README[1], "README.md", "exec"), names)
    assert isinstance(names["reward"], float)
    assert isinstance(names["result"], openfingym.RolloutResult)
    assert names["result"].state == "scored"
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_verifier_that_serves_over_tcp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`openfingym verifier serve` in one process, `openfingym run --verifier` in another, as an operator would."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cli = [sys.executable, "-c", "from openfingym.cli import main; main()"]
    environment = {**os.environ, "OPENFINGYM_ADMIN_TOKEN": "a secret for this test only"}
    serve = [
        *cli,
        "verifier",
        "serve",
        "--task",
        "treasury-forecast",
        "--port",
        str(port),
        "--state",
        str(tmp_path / "state"),
    ]
    with subprocess.Popen(serve, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            assert "serving treasury-forecast" in server.stderr.readline()
            where = ["--verifier", f"http://127.0.0.1:{port}", "--out", str(tmp_path / "runs"), "--json"]
            run = ["run", "treasury-forecast", "--agent", "naive", "--backend", "inline", *where]
            done = _command(run, environment)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)[0]["state"] == "scored"
            token = environment["OPENFINGYM_ADMIN_TOKEN"]
            _, said = _command_here(["verifier", "status", where[1]], capsys, OPENFINGYM_ADMIN_TOKEN=token)
            assert "treasury-forecast" in said
            status, said = _command_here(run, capsys, OPENFINGYM_ADMIN_TOKEN="wrong")
            assert status == 4
            assert "unauthorized" in said
        finally:
            server.terminate()
            server.wait(20)
