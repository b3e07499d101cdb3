"""Heavy scoring: in processes that can die, hang or be killed without anybody else noticing."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from openfingym.errors import SubmissionError, VerifierError
from openfingym.kinds import kind_of
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.scoring.grading import Grading
from openfingym_verifier.scoring.truth import HiddenTask, load_task
from openfingym_verifier.scoring.workers import Workers

WORKER = "openfingym_verifier.scoring.worker"
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def heavy(kinds: dict[str, BuiltPackage]) -> HiddenTask:
    return load_task(kinds["windows"])


@pytest.fixture(autouse=True)
def store_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds a baseline's score that another one left."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))


@pytest.fixture
def workers() -> Iterator[Workers]:
    pool = Workers(count=2, timeout_s=120.0)
    yield pool
    pool.close()


def samples(package: BuiltPackage, seed: int) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(package.manifest.submission_shape)


def children(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(pid).children() if WORKER in child.cmdline()]


def ended(pid: int, timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_worker_gives_the_same_numbers(workers: Workers, heavy: HiddenTask) -> None:
    values = heavy.grader.baseline

    async def both() -> list[Any]:
        return await asyncio.gather(
            workers.score(heavy, "public", values),
            workers.score(heavy, "private", values),
            workers.score(heavy, "baseline"),
        )

    public, private, baseline = asyncio.run(both())
    assert public == heavy.grader.public_score(values)
    assert private == baseline == heavy.grader.baseline_score() != public
    assert 1 <= len(workers.pids) <= 2


def test_workers_get_ready_before_there_is_a_job(workers: Workers, heavy: HiddenTask) -> None:
    """And one that cannot be got ready is there all the same."""
    workers.prepare(["sig_mmd", "no-such-metric"])
    until = time.monotonic() + 60
    while len(workers.pids) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    ready = workers.pids
    assert len(ready) == 2
    score = asyncio.run(workers.score(heavy, "private", heavy.grader.baseline))
    assert score == heavy.grader.baseline_score()
    assert set(workers.pids) == set(ready), "no worker died of what it could not prepare"


def test_a_machine_of_many_cores_starts_no_more_workers_than_have_something_to_prepare() -> None:
    workers = Workers(count=16)
    try:
        workers.prepare(["sig_mmd", "no-such-metric"])
        workers._threads.shutdown(wait=True)
        assert len(workers.pids) == 2
    finally:
        workers.close()


def test_a_worker_that_is_killed_while_it_gets_ready_costs_no_score(workers: Workers, heavy: HiddenTask) -> None:
    workers.prepare(["sig_mmd", "disc_fast"])
    until = time.monotonic() + 60
    while len(workers.pids) < 2 and time.monotonic() < until:
        time.sleep(0.001)
    killed = workers.pids
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    score = asyncio.run(workers.score(heavy, "private", heavy.grader.baseline))
    assert score == heavy.grader.baseline_score()
    assert not set(killed) & set(workers.pids)


def test_closing_does_not_wait_for_workers_that_get_ready() -> None:
    workers = Workers(count=2)
    workers.prepare(["sig_mmd", "disc_fast"])
    began = time.monotonic()
    workers.close()
    assert workers.pids == ()
    assert time.monotonic() - began < 30
    workers.close()


def test_a_refusal_comes_back_as_one(workers: Workers, heavy: HiddenTask, kinds: dict[str, BuiltPackage]) -> None:
    copies = np.array(kinds["windows"].array("train_targets"))[: heavy.shape[0]]
    with pytest.raises(SubmissionError, match="memorised") as caught:
        asyncio.run(workers.score(heavy, "public", copies))
    assert caught.value.problem == "memorised"


def test_a_failure_of_ours_comes_back_as_one_and_the_worker_lives(workers: Workers, heavy: HiddenTask) -> None:
    with pytest.raises(VerifierError, match="failed with"):
        asyncio.run(workers.score(heavy, "private", None))
    before = workers.pids
    assert asyncio.run(workers.score(heavy, "baseline")).total > 0.0
    assert set(before) <= set(workers.pids)


def test_a_killed_worker_costs_its_own_job_and_no_other(workers: Workers, heavy: HiddenTask) -> None:
    async def scenario() -> None:
        await asyncio.gather(*(workers.score(heavy, "private", heavy.grader.baseline) for _ in range(2)))
        victim, other = workers.pids
        os.kill(victim, signal.SIGSTOP)
        jobs = [asyncio.ensure_future(workers.score(heavy, "baseline")) for _ in range(6)]
        done: set[Any] = set()
        while len(done) < 5:  # the other worker does them all
            done, _ = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED, timeout=60)
            await asyncio.sleep(0.02)
        os.kill(victim, signal.SIGKILL)
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert [type(failure) for failure in failures] == [VerifierError]
        assert "died (code -9)" in str(failures[0])
        assert other in workers.pids
        # The pool is whole again.
        assert (
            len({str(score) for score in await asyncio.gather(*(workers.score(heavy, "baseline") for _ in range(4)))})
            == 1
        )

    asyncio.run(scenario())


def test_a_worker_that_dies_idle_costs_nothing(heavy: HiddenTask) -> None:
    workers = Workers(count=1)
    try:
        first = asyncio.run(workers.score(heavy, "baseline"))
        (pid,) = workers.pids
        os.kill(pid, signal.SIGKILL)
        assert next(iter(workers._alive)).process.wait(20) == -signal.SIGKILL
        assert asyncio.run(workers.score(heavy, "baseline")) == first
        assert pid not in workers.pids
    finally:
        workers.close()


def test_a_score_that_takes_too_long_is_our_error(heavy: HiddenTask) -> None:
    workers = Workers(count=1, timeout_s=60.0)
    try:
        asyncio.run(workers.score(heavy, "baseline"))
        (pid,) = workers.pids
        os.kill(pid, signal.SIGSTOP)
        workers._timeout_s = 0.3
        with pytest.raises(VerifierError, match=r"took more than 0\.3 s"):
            asyncio.run(workers.score(heavy, "baseline"))
        assert ended(pid)
        workers._timeout_s = 60.0
        assert asyncio.run(workers.score(heavy, "baseline")).total > 0.0
    finally:
        workers.close()


def test_closing_ends_what_is_running(heavy: HiddenTask) -> None:
    workers = Workers(count=1)
    asyncio.run(workers.score(heavy, "baseline"))
    (pid,) = workers.pids
    os.kill(pid, signal.SIGSTOP)

    async def scenario() -> None:
        job = asyncio.ensure_future(workers.score(heavy, "baseline"))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(workers.close)
        with pytest.raises(VerifierError):
            await job

    asyncio.run(scenario())
    assert ended(pid)
    assert workers.pids == ()


class Counting(Workers):
    """Counts what it is asked, and fails as often as told."""

    def __init__(self, failures: int = 0, count: int = 2) -> None:
        super().__init__(count)
        self.asked = 0
        self.failures = failures

    async def score(self, task: HiddenTask, action: Any, values: Any = None, *, afresh: bool = False) -> Any:
        self.asked += 1
        if self.asked <= self.failures:
            raise VerifierError("a worker died")
        return await super().score(task, action, values, afresh=afresh)


def graded(heavy: HiddenTask, workers: Counting, scenario: Callable[[Grading], Any]) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    async def run() -> Any:
        return await scenario(Grading(threads, workers))

    with ThreadPoolExecutor(1) as threads:
        try:
            return asyncio.run(run())
        finally:
            workers.close()


def test_the_same_values_are_scored_once(heavy: HiddenTask) -> None:
    workers, values = Counting(), heavy.grader.baseline

    async def scenario(grading: Grading) -> list[Any]:
        scores = await asyncio.gather(*(grading.public(heavy, values, "a") for _ in range(8)))
        return [*scores, await grading.public(heavy, values, "a"), await grading.private(heavy, values, "a")]

    scores = graded(heavy, workers, scenario)
    assert workers.asked == 2
    assert all(score == scores[0] for score in scores[:9])
    assert scores[9] != scores[0]


def test_a_failure_of_ours_is_not_remembered(heavy: HiddenTask) -> None:
    workers = Counting(failures=1)

    async def scenario(grading: Grading) -> Any:
        with pytest.raises(VerifierError):
            await grading.baseline(heavy)
        assert grading.known_baseline(heavy) is None
        score = await grading.baseline(heavy)
        assert grading.known_baseline(heavy) == score
        return await grading.baseline(heavy)

    assert graded(heavy, workers, scenario) == heavy.grader.baseline_score()
    assert workers.asked == 2


def test_who_gives_up_takes_nothing_from_the_others(heavy: HiddenTask) -> None:
    workers = Counting()

    async def scenario(grading: Grading) -> Any:
        impatient, patient = (asyncio.ensure_future(grading.baseline(heavy)) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        return await patient

    assert graded(heavy, workers, scenario) == heavy.grader.baseline_score()
    assert workers.asked == 1


def test_memory_of_scores_is_bounded(heavy: HiddenTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym_verifier.scoring.grading.MAX_KNOWN", 4)
    workers, values = Counting(), heavy.grader.baseline

    async def scenario(grading: Grading) -> None:
        await grading.baseline(heavy)
        for digest in "abcdefgh":
            await grading.private(heavy, values, digest)
        await asyncio.sleep(0)
        assert len(grading._known[heavy.name]) == 4
        await grading.baseline(heavy)  # never forgotten
        await grading.private(heavy, values, "h")
        assert workers.asked == 9

    graded(heavy, workers, scenario)


@linux
def test_what_kills_all_workers_one_after_another_is_one_mishap(heavy: HiddenTask) -> None:
    """A valid answer is not refused because the worker of its second try was dying as well."""
    workers = Counting(count=3)

    async def scenario(grading: Grading) -> Any:
        await asyncio.gather(*(workers.score(heavy, "baseline") for _ in range(4)))
        assert len(workers.pids) == 3
        for pid in workers.pids:
            os.kill(pid, signal.SIGSTOP)
        asked = workers.asked
        job = asyncio.ensure_future(grading.public(heavy, heavy.grader.baseline, "a"))
        until = time.monotonic() + 60
        while len(busy := [worker for worker in workers._alive if waiting_bytes(worker.process)]) < 2:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        others = set(workers.pids) - {worker.process.pid for worker in busy}
        assert others
        for worker in busy:
            worker.process.kill()
        while workers.asked < asked + 2:  # until it is tried again
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        for pid in others & set(workers.pids):
            os.kill(pid, signal.SIGKILL)
        return await job

    assert graded(heavy, workers, scenario) == heavy.grader.public_score(heavy.grader.baseline)
    assert workers.asked == 4 + 2


def waiting_bytes(process: subprocess.Popen[bytes]) -> int:
    """How much was written to a process that it has not yet read."""
    assert process.stdin is not None
    return int.from_bytes(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)), sys.byteorder)


def held_files(folder: Path) -> list[str]:
    """What a process holds open, by its folder in /proc; it may close a file while we read."""
    names = []
    for entry in folder.joinpath("fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.append(str(entry.readlink()))
    return names


@linux
def test_workers_of_a_verifier_are_private_and_yield(kinds_server: Any, kinds: dict[str, BuiltPackage]) -> None:
    ticket = kinds_server.client.create_rollout("windows")
    kinds_server.client.submit(ticket.token, samples(kinds["windows"], 1))
    found = children(kinds_server.embedded.pid)
    assert 1 <= len(found) <= len(os.sched_getaffinity(0))
    for worker in found:
        assert str(kinds["windows"].truth) not in " ".join(worker.cmdline())
        assert worker.nice() == psutil.Process(kinds_server.embedded.pid).nice() + 10
        folder = Path("/proc") / str(worker.pid)
        # The kernel gives the files of a process that cannot be dumped to root, whoever runs it.
        assert folder.joinpath("mem").stat().st_uid == 0
        assert "Max core file size        0                    0" in folder.joinpath("limits").read_text()
        assert int(folder.joinpath("oom_score_adj").read_text()) == 800
        open_files = held_files(folder)
        assert "pipe:" in " ".join(open_files)
        assert not [name for name in open_files if "/truth/" in name or "/public/" in name or "ledger" in name]
        if os.getuid() == 0:
            environment = folder.joinpath("environ").read_bytes().decode()
            assert kinds_server.embedded.admin_token not in environment
            assert {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"} <= set(environment.split("\0"))


@linux
def test_a_worker_killed_under_a_submission(serve: Any, kinds: dict[str, BuiltPackage], to_npy: Any) -> None:
    """Our failure, and no trouble of the agent's: another worker scores it."""
    with serve([kinds["windows"], kinds["nodes"]]) as server:
        ticket, light = (server.client.create_rollout(name) for name in ("windows", "nodes"))
        server.client.submit(ticket.token, samples(kinds["windows"], 1))
        body = to_npy(samples(kinds["windows"], 2))
        for worker in children(server.embedded.pid):
            worker.suspend()
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(server.post(ticket.token, body, idempotency_key="k")))
        thread.start()
        time.sleep(0.3)
        scores = kind_of(kinds["nodes"].task).naive(
            kinds["nodes"].task.spec.contract, kinds["nodes"].array, kinds["nodes"].manifest.submission_shape
        )
        assert server.client.submit(light.token, scores).submission == 1
        for worker in children(server.embedded.pid):
            worker.kill()
        thread.join()
        assert (answers[0].status_code, answers[0].json()["submission"]) == (201, 2)
        status = server.client.rollout_status(ticket.rollout_id)
        assert (status.submissions_accepted, status.submissions_rejected) == (2, 0)
        again = server.post(ticket.token, body, idempotency_key="k")
        assert (again.status_code, again.json()["submission"]) == (201, 2)
        result = server.client.finalize(ticket.rollout_id)
        assert (result.state, result.submissions_accepted) == ("scored", 2)
        events = [row.entry["event"] for row in server.client.log(ticket.rollout_id)]
        assert events == ["rollout-created", "accepted", "scored", "accepted", "scored", "finalized"]


@linux
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_do_not_outlive_their_verifier(
    launch: Callable[..., Any], kinds: dict[str, BuiltPackage], tmp_path: Path, how: signal.Signals
) -> None:
    process = launch([kinds["windows"]], tmp_path / "state")
    with process.client() as client:
        ticket = client.create_rollout("windows")
        client.submit(ticket.token, samples(kinds["windows"], 1))
        found = children(process.popen.pid)
        assert found
        for worker in found:
            worker.suspend()  # as busy as one can be
    process.popen.send_signal(how)
    process.popen.wait(timeout=20)
    assert all(ended(worker.pid) for worker in found)


def test_a_heavy_task_delays_neither_start_nor_listing(
    serve: Any, generation: Callable[..., BuiltPackage], tmp_path: Path
) -> None:
    slow = generation(tmp_path, "slow-windows", rows=4000, metrics=("sig_mmd",))
    task = load_task(slow)
    begin = time.perf_counter()
    expected = task.grader.baseline_score()
    takes = time.perf_counter() - begin
    with serve([slow]) as server:
        begin = time.perf_counter()
        (held,) = server.client.tasks()
        assert time.perf_counter() - begin < takes
        assert held.baseline_total is None
        ticket = server.client.create_rollout("slow-windows")
        result = server.client.finalize(ticket.rollout_id)
        assert (result.state, result.baseline_total) == ("rejected", expected.total)
        assert server.client.tasks()[0].baseline_total == expected.total
