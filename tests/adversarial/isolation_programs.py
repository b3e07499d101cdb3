"""Programs that reach for what their isolation should keep from them; each prints what it got, as JSON, on its last
line."""

PLACES = """
import ctypes, fcntl, json, os, select, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
epoll = select.epoll()
places = {"epoll": epoll.fileno()}  # one inode for every one of the machine
for path in ("/task/data/contract.json", os.__file__, "/dev/null", "/proc/self/ns/user", "/proc/self/ns/time"):
    places[path] = os.open(path, os.O_RDONLY)
SETLEASE, NOTIFY, SETPIPE, SET_HINT = 1024, 1026, 1031, 1036
def attempt(call):
    try:
        return call()
    except OSError as error:
        return error.errno
def lock(kind):
    return struct.pack("hhqqi4x", kind, 0, 0, 10, 0)
"""
"""What every one of them begins with: open files whose inodes other rollouts have open too."""

CALL = """
call = socket.socket(socket.AF_UNIX)
call.connect("/run/openfingym/ready.sock")
call.recv(1)
"""
"""Tells the test that the program is ready, and waits for it."""

SENDER = f"""{PLACES}
watch = attempt(lambda: libc.inotify_init1(os.O_NONBLOCK))
for path in ("/task/data/contract.json", "/task/data"):
    libc.inotify_add_watch(watch, path.encode(), 0xFFF)
for place in places.values():
    attempt(lambda: fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB))
    attempt(lambda: fcntl.fcntl(place, fcntl.F_SETLK, lock(fcntl.F_RDLCK)))
    attempt(lambda: fcntl.fcntl(place, 37, lock(fcntl.F_RDLCK)))
    attempt(lambda: fcntl.fcntl(place, SETLEASE, fcntl.F_RDLCK))
    attempt(lambda: fcntl.fcntl(place, SET_HINT, struct.pack("Q", 3)))
os.read(places["/task/data/contract.json"], 10)
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
for _ in range(7):
    os.kill(os.getpid(), 40)
pipes = [os.pipe() for _ in range(80)]
for readable, _writable in pipes:
    attempt(lambda: fcntl.fcntl(readable, SETPIPE, 1 << 20))
left, right = socket.socketpair()
for _ in range(200):
    if attempt(lambda: socket.send_fds(left, [b"x"], [0])) != 1:
        break
{CALL}
print(json.dumps(len(os.read(watch, 4096)) if watch > 2 else 0))
"""
"""Does to shared inodes, and to what is counted by user, what a program can; then says how many bytes it has been
notified of."""

RECEIVER = f"""{PLACES}
seen = {{}}
for name, place in places.items():
    seen["atime", name] = os.stat(place).st_atime_ns if name.startswith("/task") else 0
    seen["flock", name] = attempt(lambda: fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB))
    attempt(lambda: fcntl.flock(place, fcntl.LOCK_UN))
    for asked in (fcntl.F_GETLK, 36):
        answered = lambda: fcntl.fcntl(place, asked, lock(fcntl.F_WRLCK))
        seen["locked", name, asked] = attempt(lambda: struct.unpack("hhqqi4x", answered())[0])
    seen["lease", name] = attempt(lambda: fcntl.fcntl(place, SETLEASE, fcntl.F_WRLCK))
    seen["hint", name] = attempt(lambda: fcntl.fcntl(place, 1035, bytes(8)).hex())
status = open("/proc/self/status").read()
seen["signals"] = status.partition("SigQ:")[2].split()[0]
seen["pipe"] = fcntl.fcntl(os.pipe()[0], 1032)
left, right = socket.socketpair()
seen["under way"] = sum(attempt(lambda: socket.send_fds(left, [b"x"], [0])) == 1 for _ in range(100))
seen["locks"] = attempt(lambda: open("/proc/locks").read())
print(json.dumps(sorted((str(name), value) for name, value in seen.items())))
"""
"""Says what it finds of all that: the same, whatever others do."""

LOCKING = """
import fcntl, json, os, sqlite3
from concurrent.futures import ThreadPoolExecutor
first, second = sqlite3.connect("/work/a.db"), sqlite3.connect("/work/a.db")
first.execute("create table t (x)")
for number in range(20):
    with first if number % 2 else second as connection:
        connection.execute("insert into t values (?)", (number,))
walled = sqlite3.connect("/tmp/b.db")
walled.execute("pragma locking_mode = exclusive")  # asking who holds a lock, which it does else, is refused
walled.execute("pragma journal_mode = wal")
walled.execute("create table t (x)")
walled.commit()
with open("/work/c", "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_UN)
print(json.dumps(second.execute("select count(*) from t").fetchone()[0]))
"""
"""An innocent one, which locks files of its own."""

QUEUES = r"""
import fcntl, json, os, socket, time
MORE = 300 << 20
kept, queued = [], 0
def fill(end):
    global queued
    end.setblocking(False)
    try:
        while True:
            queued += end.send(bytes(32768))
    except OSError:
        pass
def stream():
    pair = socket.socketpair()
    kept.append(pair)
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
        fill(end)
def datagrams():
    name = f"/tmp/{os.getpid()}-{len(kept)}"
    kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    kept[-1].bind(name)
    for _ in range(12):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.connect(name)
            fill(end)
def waiting():
    if not kept:
        kept.append(socket.socket(socket.AF_UNIX))
        kept[0].bind(f"/tmp/{os.getpid()}")
        kept[0].listen(4096)
    with socket.socket(socket.AF_UNIX) as end:
        end.setblocking(False)
        end.connect(f"/tmp/{os.getpid()}")
        fill(end)
def under_way():
    if not kept:
        kept.append(socket.socketpair())
    left, right = socket.socketpair()
    fill(left)
    socket.send_fds(kept[0][0], [b"x"], [right.fileno()])
def pipe():
    global queued
    readable, writable = os.pipe()
    kept.append((readable, writable))
    os.set_blocking(writable, False)
    try:
        fcntl.fcntl(writable, 1031, 1 << 20)
    except OSError:
        pass
    queued += os.write(writable, bytes(1 << 20))
def memory_file():
    global queued
    descriptor = os.memfd_create("x")
    kept.append(descriptor)
    for _ in range(16):
        queued += os.write(descriptor, bytes(1 << 20))
for _ in range(5):
    if os.fork() == 0:
        break
try:
    while queued < MORE:
        WAY()
except OSError as error:
    os.write(1, b"%s\n" % str(error).encode())
time.sleep(0.5)
os.write(1, b"%d\n" % queued)
"""
"""Fills buffers of the kernel in six processes, each until there is an error or it holds ``MORE``."""

SERVER_ATTACKS = """
import ctypes, json, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
server, got = os.getppid(), []
def attempt(name, call):
    try:
        if call() != -1:
            got.append(name)
    except (OSError, ValueError):
        pass
class Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))
own = ctypes.create_string_buffer(8)
def vector(address):
    return ctypes.byref(Vector(address, 8))
for pid in {server, 1}:
    for name in ("mem", "environ", "maps", "auxv", "syscall", "stack", "io"):
        attempt(f"read {name} of {pid}", lambda: os.read(os.open(f"/proc/{pid}/{name}", os.O_RDONLY), 1) and 0)
    for name in ("mem", "oom_score_adj", "comm"):
        attempt(f"write {name} of {pid}", lambda: os.open(f"/proc/{pid}/{name}", os.O_RDWR))
    slack = f"/proc/{pid}/timerslack_ns"
    attempt(f"write timerslack_ns of {pid}", lambda: os.write(os.open(slack, os.O_RDWR), b"1000000000"))
    for name in ("fd", "map_files", "root/work", "cwd", "ns"):
        attempt(f"list {name} of {pid}", lambda: os.listdir(f"/proc/{pid}/{name}") and 0)
    both = lambda: (pid, vector(ctypes.addressof(own)), 1, vector(id(own)), 1, 0)
    attempt(f"read vm of {pid}", lambda: libc.process_vm_readv(*both()))
    attempt(f"write vm of {pid}", lambda: libc.process_vm_writev(*both()))
    attempt(f"trace {pid}", lambda: libc.ptrace(16, pid, 0, 0))
    attempt(f"take a descriptor of {pid}", lambda: libc.syscall(438, os.pidfd_open(pid), 0, 0))
    attempt(f"limit {pid}", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64)) and 0)
    attempt(f"place {pid}", lambda: os.sched_setaffinity(pid, {0}))
    attempt(f"slow {pid}", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    if SIGNALS:
        for number in (0, signal.SIGCONT, signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
            attempt(f"signal {number} to {pid}", lambda: os.kill(pid, number))
        attempt(f"signal {pid} by its handle", lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 0))
print(json.dumps(got))
"""
"""A program of a workspace, at the process that runs it and the others."""
