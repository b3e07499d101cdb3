"""Programs of two rollouts that signal to each other through the kernel, told when by the test itself, and what comes
across.

A test holds a connection to both programs and has them take turns. So nothing depends on how fast the machine is, and
whatever comes across does so without the two having to agree on a time, which is more than a real pair could do.
"""

from __future__ import annotations

import math
import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from openfingym_runtime.job import Backend, Job

DOOR = "ready.sock"
PATIENCE_S = 60.0
LARGE_STEP = 1 << 18
"""Bytes from one page of the large file that is read to the next."""

PRELUDE = """
import ctypes, mmap, os, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
call.restype = ctypes.c_long
class Wait(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))
TASK = "/task/data/contract.json"
def mapped(path=TASK, page=0):
    file = os.open(path, os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    address = libc.mmap(None, 4096, 1, 1, file, 4096 * page)
    os.close(file)
    ctypes.string_at(address, 1)
    return address
def unmapped(address):
    libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(4096))
LARGE_STEP = 1 << 18
FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
"""
TURNS = """
door = socket.socket(socket.AF_UNIX)
door.connect("/run/openfingym/ready.sock")
door.sendall(ROLE)
while order := door.recv(1):
    if order in b"01":
        try:
            show(order == b"1")
        except OSError:
            pass
        door.sendall(b"k")
    else:
        try:
            seen = look()
        except OSError as error:
            seen = -error.errno
        door.sendall(struct.pack("<q", seen))
os._exit(0)
"""
MAPPING = """
page = None
def show(bit):
    global page
    if bit and page is None:
        page = mapped()
    elif not bit and page is not None:
        unmapped(page)
        page = None
"""
"""Maps a page of a shared file, or does not."""


@dataclass(frozen=True)
class Channel:
    """A way by which one program might tell another something."""

    name: str
    sender: str
    """Code that defines ``show(bit)``."""
    receiver: str
    """Code that defines ``look()``, which returns a number."""


CLOSED = [
    # The receiver's count of those that it has woken says whether somebody waits at the same place of the same file.
    Channel(
        "futex",
        """
page = mapped()
value = ctypes.c_uint32.from_address(page).value
about_to = threading.Event()
def wait(give_up):
    about_to.set()
    call(FUTEX, ctypes.c_void_p(page), 0, ctypes.c_uint32(value), ctypes.byref(give_up), None, 0)
waiting = None
def show(bit):
    global waiting
    if waiting is not None:
        call(FUTEX, ctypes.c_void_p(page), 1, 1, None, None, 0)
        waiting.join()
        waiting = None
    if bit:
        about_to.clear()
        waiting = threading.Thread(target=wait, args=(Wait(0, 200_000_000),))
        waiting.start()
        about_to.wait()
        time.sleep(0.005)
""",
        """
page = mapped()
def look():
    return call(FUTEX, ctypes.c_void_p(page), 1, 1, None, None, 0)
""",
    ),
    Channel(
        "smaps",
        MAPPING,
        """
page = mapped()
def look():
    for part in open("/proc/self/smaps").read().split("VmFlags")[::-1]:
        if f"{page:x}-" in part:
            return int(part.partition("Pss:")[2].split()[0])
    return -1
""",
    ),
    Channel(
        "pagemap",
        MAPPING,
        """
page = mapped()
def look():
    with open("/proc/self/pagemap", "rb", 0) as file:
        file.seek(page // 4096 * 8)
        return int.from_bytes(file.read(8), "little") >> 56 & 1
""",
    ),
    Channel(
        "numa_maps",
        MAPPING,
        """
page = mapped()
def look():
    for line in open("/proc/self/numa_maps"):
        if line.startswith(f"{page:x} "):
            return int((line.partition("mapmax=")[2].split() or ["1"])[0])
    return -1
""",
    ),
    Channel(
        "socket_cookie",
        """
def show(bit):
    for _ in range(4500 * bit):
        with socket.socket(socket.AF_UNIX) as made:
            made.getsockopt(1, 57, 8)
""",
        """
last = 0
def look():
    global last
    for _ in range(4096):
        with socket.socket(socket.AF_UNIX) as made:
            now = struct.unpack("Q", made.getsockopt(1, 57, 8))[0]
    last, gone = now, now - last
    return gone
""",
    ),
    Channel(
        "pidfd_inode",
        """
def show(bit):
    for _ in range(25 * bit):
        made = threading.Thread(target=int)
        made.start()
        made.join()
""",
        """
last = 0
def look():
    global last
    if (child := os.fork()) == 0:
        os._exit(0)
    try:
        handle = os.pidfd_open(child)
    finally:
        os.waitpid(child, 0)
    now = os.fstat(handle).st_ino
    os.close(handle)
    last, gone = now, now - last
    return gone
""",
    ),
    Channel(
        "sysinfo_threads",
        """
end, kept = threading.Event(), []
def show(bit):
    end.set()
    for thread in kept:
        thread.join()
    kept.clear()
    end.clear()
    if bit:
        for _ in range(20):
            kept.append(threading.Thread(target=end.wait))
            kept[-1].start()
""",
        """
def look():
    room = ctypes.create_string_buffer(128)
    if libc.sysinfo(room):
        raise OSError(ctypes.get_errno(), "sysinfo")
    return struct.unpack_from("H", room, 80)[0]
""",
    ),
    Channel(
        "sysinfo_free",
        """
kept = None
def show(bit):
    global kept
    kept = bytearray(b"x" * (8 << 20)) if bit else None
""",
        """
def look():
    room = ctypes.create_string_buffer(128)
    if libc.sysinfo(room):
        raise OSError(ctypes.get_errno(), "sysinfo")
    return struct.unpack_from("L", room, 40)[0]
""",
    ),
    Channel(
        "aio",
        """
kept = []
def show(bit):
    for context in kept:
        call(207, context)
    kept.clear()
    for size in (1 << 16 >> place for place in range(17)) if bit else ():
        while True:
            context = ctypes.c_ulong(0)
            if call(206, size, ctypes.byref(context)):
                break
            kept.append(context)
""",
        """
def look():
    context = ctypes.c_ulong(0)
    if call(206, 1, ctypes.byref(context)):
        return -ctypes.get_errno()
    call(207, context)
    return 0
""",
    ),
    Channel(
        "eventfd_id",
        """
kept = []
def show(bit):
    for file in kept:
        os.close(file)
    kept.clear()
    kept.extend(os.eventfd(0) for _ in range(100 * bit))
""",
        """
def look():
    file = os.eventfd(0)
    try:
        text = open(f"/proc/self/fdinfo/{file}").read()
        return int(text.partition("eventfd-id:")[2].split()[0])
    finally:
        os.close(file)
""",
    ),
    Channel(
        "open_files",
        """
kept = []
def show(bit):
    for file in kept:
        os.close(file)
    kept.clear()
    kept.extend(os.open("/dev/null", 0) for _ in range(150 * bit))
""",
        """
def look():
    return int(open("/proc/sys/fs/file-nr").read().split()[0])
""",
    ),
    Channel(
        "running",
        """
def show(bit):
    for _ in range(30 * bit):
        made = threading.Thread(target=int)
        made.start()
        made.join()
""",
        """
last = 0
def look():
    global last
    now = int(open("/proc/stat").read().partition("processes ")[2].split()[0])
    last, gone = now, now - last
    return gone
""",
    ),
    Channel(
        "group_mapped",
        """
page = None
def show(bit):
    global page
    if bit and page is None:
        page = [mapped(page=number) for number in range(64)]
    elif not bit and page is not None:
        for one in page:
            unmapped(one)
        page = None
""",
        """
def look():
    for name in ("/sys/fs/cgroup/memory.stat", "/sys/fs/cgroup/memory/memory.stat"):
        if os.path.exists(name):
            for line in open(name):
                if line.startswith(("mapped_file", "file_mapped")):
                    return int(line.split()[1])
    return -1
""",
    ),
    Channel(
        "memory_file_inode",
        """
def show(bit):
    for _ in range(1500 * bit):
        os.close(os.memfd_create("x"))
""",
        """
last = 0
def look():
    global last
    for _ in range(1024):
        file = os.memfd_create("x")
        now = os.fstat(file).st_ino
        os.close(file)
    last, gone = now, now - last
    return gone
""",
    ),
    Channel(
        "terminals",
        """
import resource
kept = []
def show(bit):
    if not bit:
        for pid in kept:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        kept.clear()
        return
    for _ in range(4):
        ready, tell = os.pipe()
        if (pid := os.fork()) == 0:
            try:
                while True:
                    os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
            except OSError:
                os.write(tell, b"x")
            while True:
                time.sleep(1)
        os.read(ready, 1)
        os.close(ready)
        os.close(tell)
        kept.append(pid)
""",
        """
def look():
    os.close(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    return 0
""",
    ),
]
"""Channels that both backends have closed."""
CLOSED_IN_SANDBOX = [
    Channel(
        "proc_links",
        """
kept = []
def show(bit):
    for pid in kept:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    kept.clear()
    for _ in range(25 * bit):
        if (pid := os.fork()) == 0:
            time.sleep(60)
            os._exit(0)
        kept.append(pid)
""",
        """
def look():
    return os.stat("/proc").st_nlink
""",
    ),
]
"""Channels that are open in a container."""
KNOWN = [
    Channel(
        "pipe_inode",
        """
def show(bit):
    for _ in range(1500 * bit):
        for end in os.pipe():
            os.close(end)
""",
        """
last = 0
def look():
    global last
    for _ in range(1024):
        ends = os.pipe()
        now = os.fstat(ends[0]).st_ino
        for end in ends:
            os.close(end)
    last, gone = now, now - last
    return gone
""",
    ),
    Channel(
        "page_cache",
        """
turn = 0
def show(bit):
    global turn
    turn += 1
    if bit:
        with open("/task/data/large", "rb", 0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file.fileno(), 1, LARGE_STEP * turn)
""",
        """
import resource
turn = -1
file = os.open("/task/data/large", os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
def look():
    global turn
    turn += 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
    os.pread(file, 1, LARGE_STEP * turn)
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock - before
""",
    ),
    Channel(
        "load",
        """
stop, kept = threading.Event(), []
def spin():
    while not stop.is_set():
        pass
def show(bit):
    stop.set()
    for thread in kept:
        thread.join()
    kept.clear()
    stop.clear()
    if bit:
        kept.append(threading.Thread(target=spin))
        kept[0].start()
""",
        """
def look():
    wall, used = time.perf_counter_ns(), time.process_time_ns()
    while time.process_time_ns() < used + 10_000_000:
        pass
    return (time.perf_counter_ns() - wall) // 1000
""",
    ),
]
"""Channels that are open, and are named in docs/isolation.md."""


@dataclass(frozen=True)
class Heard:
    """What came across."""

    sent: tuple[bool, ...]
    seen: tuple[int, ...]
    seconds: float

    @property
    def errors(self) -> float:
        """Share of the second half of the bits that a reader gets wrong who learns from the first half how to read."""
        half = len(self.sent) // 2
        read = reader(self.sent[:half], self.seen[:half])
        wrong = sum(read(value) != bit for bit, value in zip(self.sent[half:], self.seen[half:], strict=True))
        # Who reads more than half of them wrong knows nothing, for which way round to read was to be learnt.
        return min(0.5, wrong / (len(self.sent) - half))

    @property
    def bits_per_second(self) -> float:
        """Capacity of a binary symmetric channel with these errors, at this speed."""
        return capacity(self.errors) * len(self.sent) / self.seconds


def capacity(errors: float) -> float:
    """Bits that one binary sign carries of which a share of ``errors`` arrives wrong, in a symmetric channel."""
    if errors == 0.0:
        return 1.0
    return 1.0 + errors * math.log2(errors) + (1.0 - errors) * math.log2(1.0 - errors)


def reader(sent: Sequence[bool], seen: Sequence[int]) -> Callable[[int], bool]:
    """The best rule of the form "at least so much" or "less than that" for these bits."""
    best, rule = -1, (0, True)
    for edge in sorted(set(seen)):
        right = sum((value >= edge) == bit for bit, value in zip(sent, seen, strict=True))
        for score, above in ((right, True), (len(sent) - right, False)):
            if score > best:
                best, rule = score, (edge, above)
    edge, above = rule
    return lambda value: (value >= edge) == above


class Broken(Exception):
    """One of the two programs has ended early."""


Start = Callable[[str, Path], str]
"""Runs the text of a program, with the folder of its gate, to its end; returns what it printed."""


def rollouts(backend: Backend, job: Job) -> Start:
    """Programs of rollouts of their own."""

    def start(program: str, folder: Path) -> str:
        outcome = backend.run(replace(job, program=program, gate_directory=folder))
        return outcome.output.decode(errors="replace")

    return start


def unconfined(task: Path) -> Start:
    """Programs of this machine, which nothing keeps apart."""

    def start(program: str, folder: Path) -> str:
        text = program.replace("/task/", f"{task}/").replace("/run/openfingym/", f"{folder}/")
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return start


def transfer(start: Start, channel: Channel, folder: Path, bits: int, seed: int = 1) -> Heard:
    """Run the two programs of a channel at once, and send random bits.

    Args:
        start: runs a program.
        channel: the channel.
        folder: folder of the gate of both.
        bits: how many bits are sent.
        seed: seed of the bits.

    Raises:
        Broken: a program has ended; the message has what both have printed.
    """
    with socket.socket(socket.AF_UNIX) as door, ThreadPoolExecutor(2) as pool:
        door.bind(str(folder / DOOR))
        (folder / DOOR).chmod(0o666)
        door.listen(2)
        door.settimeout(PATIENCE_S)
        programs = [
            f"ROLE = {role!r}\n{PRELUDE}{code}{TURNS}"
            for role, code in ((b"s", channel.sender), (b"r", channel.receiver))
        ]
        running = [pool.submit(start, program, folder) for program in programs]
        ends: dict[bytes, socket.socket] = {}
        try:
            for _ in programs:
                end, _address = door.accept()
                end.settimeout(PATIENCE_S)
                ends[end.recv(1)] = end
            return _turns(ends[b"s"], ends[b"r"], random.Random(seed), bits)
        except OSError as error:
            for end in ends.values():
                end.close()
            raise Broken(f"{error!r}: {[program.result()[-2000:] for program in running]}") from error
        finally:
            for end in ends.values():
                end.close()


def _turns(sender: socket.socket, receiver: socket.socket, draw: random.Random, bits: int) -> Heard:
    sent, seen = [], []
    _ask(receiver, b"?", 8)  # the first look has nothing to compare with
    began = time.perf_counter()
    for _ in range(bits):
        bit = draw.random() < 0.5
        _ask(sender, b"1" if bit else b"0", 1)
        seen.append(struct.unpack("<q", _ask(receiver, b"?", 8))[0])
        sent.append(bit)
    return Heard(tuple(sent), tuple(seen), time.perf_counter() - began)


def _ask(end: socket.socket, order: bytes, size: int) -> bytes:
    end.sendall(order)
    answer = end.recv(size, socket.MSG_WAITALL)
    if len(answer) < size:
        raise ConnectionError("a program has ended")
    return answer
