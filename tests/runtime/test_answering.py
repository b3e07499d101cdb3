"""The last filter of system calls: what it lets through, and that what the first process answers works as ever."""

from __future__ import annotations

import errno
import json
import os
import textwrap
from collections.abc import Callable

import pytest

from openfingym_agent import answering
from openfingym_runtime.backends import select
from openfingym_runtime.job import Backend, Job, Outcome

ALLOWED, NOTIFY, ERROR = 0x7FFF0000, 0x7FC00000, 0x00050000
MACHINE = os.uname().machine
BACKENDS = [pytest.param("docker", marks=pytest.mark.docker), pytest.param("sandbox", marks=pytest.mark.sandbox)]
# Numbers as the kernel's headers give them: x86_64, aarch64.
CALLS = {
    "read": (0, 63), "futex": (202, 98), "futex_waitv": (449, 449), "futex_wait": (455, 455), "sysinfo": (99, 179),
    "clone": (56, 220), "madvise": (28, 233), "prctl": (157, 167), "bind": (49, 200), "getsockopt": (55, 209),
    "setsockopt": (54, 208), "pidfd_open": (434, 434),
}  # fmt: skip


def judge(call: str, *arguments: int, audit: int = answering.AUDIT) -> int:
    """Run the filter on one call, as a plain interpreter of classic BPF would."""
    words = {0: CALLS[call][("x86_64", "aarch64").index(MACHINE)], 4: audit}
    for place in range(6):
        value = arguments[place] if place < len(arguments) else 0
        words[16 + 8 * place] = value & 0xFFFFFFFF
        words[20 + 8 * place] = value >> 32
    accumulator = position = 0
    while True:
        operation, if_true, if_false, constant = answering.program()[position]
        position += 1
        if operation == 0x20:
            accumulator = words[constant]
        elif operation == 0x54:
            accumulator &= constant
        elif operation == 0x15:
            position += if_true if accumulator == constant else if_false
        elif operation == 0x45:
            position += if_true if accumulator & constant else if_false
        elif operation == 0x06:
            return constant
        else:
            raise AssertionError(f"operation {operation:#x}")


@pytest.mark.parametrize(
    ("verdict", "call", "arguments"),
    [
        (ALLOWED, "read", ()),
        # waits and wakes for the threads of one process, by any clock and at any address
        (ALLOWED, "futex", (1 << 40, 128)), (ALLOWED, "futex", (8, 129)), (ALLOWED, "futex", (8, 137 | 256)),
        (ALLOWED, "futex", (8, 134)),
        # between processes, also where the upper half of the argument, which the kernel does not read, says otherwise
        (NOTIFY, "futex", (1 << 40, 0)), (NOTIFY, "futex", (8, 1)), (NOTIFY, "futex", (8, 9 | 256)),
        (NOTIFY, "futex", (8, 10)), (NOTIFY, "futex", (8, 128 << 32)),
        # moving who waits, waking by a condition, locks with an owner
        *((ERROR | errno.ENOSYS, "futex", (8, operation)) for operation in (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 64)),
        (ERROR | errno.ENOSYS, "futex_waitv", ()), (ERROR | errno.ENOSYS, "futex_wait", (0, 0, 0, 128)),
        (NOTIFY, "sysinfo", (8,)),
        (ERROR | errno.EPERM, "pidfd_open", (1,)), (ERROR | errno.EPERM, "clone", (0x1000 | 17,)),
        (ALLOWED, "clone", (0x3D0F00,)),
        (ERROR | errno.EINVAL, "madvise", (0, 1, 12)), (ERROR | errno.EINVAL, "madvise", (0, 1, 12 | 1 << 32)),
        (ALLOWED, "madvise", (0, 1, 4)), (ERROR | errno.EINVAL, "prctl", (67, 1)), (ALLOWED, "prctl", (4, 67)),
        (ERROR | errno.EINVAL, "bind", (3, 8, 2)), (ALLOWED, "bind", (3, 8, 3)),
        *((ERROR | errno.ENOPROTOOPT, "getsockopt", (3, 1, option)) for option in (57, 71, 77)),
        (ALLOWED, "getsockopt", (3, 1, 17)), (ALLOWED, "getsockopt", (3, 6, 57)),
        (ERROR | errno.EPERM, "setsockopt", (3, 1, 16)), (ERROR | errno.EPERM, "setsockopt", (3, 1, 76)),
        (ALLOWED, "setsockopt", (3, 1, 2)),
    ],
)  # fmt: skip
def test_verdict(verdict: int, call: str, arguments: tuple[int, ...]) -> None:
    assert judge(call, *arguments) == verdict


def test_calls_by_another_convention_are_the_other_filters() -> None:
    assert judge("sysinfo", audit=0x40000003) == ALLOWED


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    return select(request.param, trusted=False)


@pytest.fixture
def said(backend: Backend, make_job: Callable[..., Job]) -> Callable[[str], object]:
    """Runs a program with two cores, and returns what it said on its last line."""

    def run(program: str) -> object:
        outcome: Outcome = backend.run(make_job(textwrap.dedent(program), cpus=2))
        assert (outcome.ended_by, outcome.exit_code) == ("exit", 0), outcome.output.decode()
        return json.loads(outcome.output.decode().splitlines()[-1])

    return run


PROCESSES = """
import json, multiprocessing, multiprocessing.shared_memory, time
def put(queue, lock, count):
    for number in range(200):
        with lock:
            count.value += 1
        queue.put(number)
def meet(barrier):
    for _ in range(20):
        barrier.wait()
def wait(event):
    raise SystemExit(not event.wait(60))
if __name__ == "__main__":
    context, found = multiprocessing.get_context("METHOD"), []
    with context.Pool(2) as pool:
        found.append(sum(pool.map(abs, range(-300, 0), chunksize=1)))
    queue, lock, count = context.Queue(), context.Lock(), context.Value("i", 0, lock=False)
    writers = [context.Process(target=put, args=(queue, lock, count)) for _ in range(2)]
    barrier, event = context.Barrier(3), context.Event()
    others = [context.Process(target=meet, args=(barrier,)) for _ in range(3)]
    others.append(context.Process(target=wait, args=(event,)))
    for process in (*writers, *others):
        process.start()
    found.append(sum(queue.get() for _ in range(400)))
    event.set()
    for process in (*writers, *others):
        process.join()
    found += [count.value, [process.exitcode for process in (*writers, *others)]]
    lock.acquire()
    before = time.monotonic()
    found.append(lock.acquire(timeout=1.2))
    found.append(1.1 < time.monotonic() - before < 30)
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=10)
    shared.buf[3] = 7
    again = multiprocessing.shared_memory.SharedMemory(shared.name)
    found.append(again.buf[3])
    for end in (again, shared):
        end.close()
    shared.unlink()
    print(json.dumps(found))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_one_program_wait_for_each_other(said: Callable[[str], object], method: str) -> None:
    found = said(PROCESSES.replace("METHOD", method))
    assert found == [45150, 2 * 19900, 400, [0] * 6, False, True, 7]


def test_threads_of_the_numerical_libraries_work(said: Callable[[str], object]) -> None:
    assert said("""
        import json, joblib, numpy, threading
        from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
        if __name__ == "__main__":
            x = numpy.random.default_rng(0).normal(size=(300, 4))
            found = [numpy.linalg.svd(x @ x.T)[1].shape]
            for model in (RandomForestRegressor(10, n_jobs=2), HistGradientBoostingRegressor(max_iter=10)):
                found.append(bool(model.fit(x, x[:, 0]).score(x, x[:, 0]) > 0.5))
            found.append(joblib.Parallel(2)(joblib.delayed(abs)(-n) for n in range(4)))
            import lightgbm
            model = lightgbm.LGBMRegressor(n_estimators=10, n_jobs=2, verbose=-1)
            found.append(bool(model.fit(x, x[:, 0]).score(x, x[:, 0]) > 0.3))
            print(json.dumps(found))
    """) == [[300], True, True, [0, 1, 2, 3], True]


def test_a_thread_that_the_c_library_waits_for_is_noticed(said: Callable[[str], object]) -> None:
    assert said("""
        import ctypes, json, time
        libc = ctypes.CDLL(None)
        Body = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        body, thread = Body(lambda _: time.sleep(0.2)), ctypes.c_ulong()
        codes = [libc.pthread_create(ctypes.byref(thread), None, body, None), libc.pthread_join(thread, None)]
        print(json.dumps(codes))
    """) == [0, 0]


def test_what_a_wait_returns(said: Callable[[str], object]) -> None:
    """A signal, another value, no memory at the address, a time that is over: as the kernel has it."""
    found = said("""
        import ctypes, json, os, platform, signal, threading, time
        libc = ctypes.CDLL(None, use_errno=True)
        FUTEX = {"x86_64": 202, "aarch64": 98}[platform.machine()]
        class Time(ctypes.Structure):
            _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))
        word = ctypes.c_uint32(5)
        def wait(address, value, operation=0, time=None, mask=0xFFFFFFFF):
            given = ctypes.byref(time) if time else None
            done = libc.syscall(FUTEX, ctypes.c_void_p(address), operation, ctypes.c_uint32(value), given, None, mask)
            return ctypes.get_errno() if done else 0
        place = ctypes.addressof(word)
        found = [wait(place, 4), wait(8, 0), wait((1 << 64) - 8, 0), wait(place, 5, 0, Time(0, 20_000_000))]
        at = time.time() + 0.05
        found.append(wait(place, 5, 9 | 256, Time(int(at), int(at % 1 * 1e9))))
        found.append(time.time() >= at)
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.siginterrupt(signal.SIGALRM, True)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        found.append(wait(place, 5, 0, Time(30, 0)))
        def wake():
            word.value = 6
            libc.syscall(FUTEX, ctypes.c_void_p(place), 1, 1)
        threading.Timer(0.05, wake).start()
        found.append(wait(place, 5, 0, Time(30, 0)))
        print(json.dumps(found))
    """)
    again, nowhere, over, interrupted = errno.EAGAIN, errno.EFAULT, errno.ETIMEDOUT, errno.EINTR
    assert found == [again, nowhere, nowhere, over, over, True, interrupted, again]


def test_a_process_that_hides_its_memory_waits_too(said: Callable[[str], object]) -> None:
    assert said("""
        import ctypes, json, multiprocessing, os, time
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        context = multiprocessing.get_context("fork")
        lock = context.Lock()
        lock.acquire()
        if os.fork() == 0:
            time.sleep(0.2)
            lock.release()
            os._exit(0)
        print(json.dumps(lock.acquire()))
    """)


def test_the_machine_tells_its_size_and_nothing_that_changes(said: Callable[[str], object]) -> None:
    free, all_of_it = said("""
        import json, os
        print(json.dumps([os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PHYS_PAGES")]))
    """)  # type: ignore[misc]  # it is a list
    assert free == all_of_it == os.sysconf("SC_PHYS_PAGES")


def test_no_program_becomes_the_one_that_answers(said: Callable[[str], object]) -> None:
    assert (
        said("""
        import ctypes, json, sys
        sys.path.append("/opt/agent/site-packages/openfingym_agent")
        import answering
        try:
            answering.install()
        except OSError as error:
            print(json.dumps(error.errno))
    """)
        == errno.EBUSY
    )
