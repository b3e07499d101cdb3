"""Steps a second of the OpenEnv server, beside OpenEnv's own server and a bare echo, on one stepped task.

Run ``python benchmarks/openenv_server.py`` where `openenv` is installed as well (``make trainers TRAINERS=openenv``
makes such an environment); elsewhere the echo alone is compared with. All serve the same training bars to the same
client: blocking sockets in one process, which sends a step as soon as the answer to the last one is there. Rounds of
the servers take turns. Prints medians of steps a second, CPU microseconds of the server a step, CPU seconds until it
answers /health, and ratios.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from size import sized

TASK = "equity-trading"
SECONDS, ROUNDS = sized(2.0, 0.1), sized(3, 1)
START_S = 60.0
"""Seconds that a server may take until it answers."""
SESSIONS = sized((1, 16), (1,))
OWN = f"""
from pydantic import ConfigDict
import openfingym, uvicorn, sys
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from openfingym.envs.making import make

class Weights(Action):
    action: list[float]

class Seen(Observation):
    observation: list[float] = []
    info: dict = {{}}

class Trading(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    def __init__(self):
        super().__init__()
        self.env, self.count = make({TASK!r}), 0
    def _seen(self, shown, info, reward=None, done=False):
        info = {{**info, "prices": info["prices"].tolist()}}
        info.pop("events", None)
        return Seen(observation=shown.tolist(), info=info, reward=reward, done=done)
    def reset(self, seed=None, episode_id=None, **_):
        self.count = 0
        return self._seen(*self.env.reset(seed=seed))
    def step(self, action, timeout_s=None, **_):
        shown, reward, over, cut, info = self.env.step(action.action)
        self.count += 1
        return self._seen(shown, info, reward, over or cut)
    @property
    def state(self):
        return State(step_count=self.count)

app = create_app(Trading, Weights, Seen, env_name={TASK!r}, max_concurrent_envs=64)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""
ECHO = """
import asyncio, sys
from aiohttp import web
ANSWER = ('{"type":"observation","data":{"observation":{"observation":[' + ",".join(["0.0123456789"] * 255)
          + ']},"reward":0.1,"done":false}}')
async def talk(request):
    ws = web.WebSocketResponse()
    await ws.prepare(request)
    async for _ in ws:
        await ws.send_str(ANSWER)
    return ws
async def well(request):
    return web.json_response({"status": "healthy"})
app = web.Application()
app.router.add_get("/ws", talk)
app.router.add_get("/health", well)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)
"""


def frame(message: object) -> bytes:
    """A masked text frame, whose mask changes nothing."""
    data = json.dumps(message).encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
    return b"\x81" + size + bytes(4) + data


RESET, STEP = frame({"type": "reset", "data": {}}), frame({"type": "step", "data": {"action": [0.2, 0.3, 0.1]}})


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def served(command: list[str]) -> Iterator[tuple[int, int, float]]:
    """A server; gives its port, its process id, and the CPU seconds that it took to answer."""
    port = free_port()
    process = subprocess.Popen([str(port) if part == "PORT" else part for part in command], stderr=subprocess.DEVNULL)
    try:
        until, health = time.monotonic() + START_S, f"http://127.0.0.1:{port}/health"
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(health, timeout=START_S) as answer:
                if answer.status == 200:
                    break
            if time.monotonic() > until:  # another program may have taken the port
                sys.exit(f"a server did not answer within {START_S:g} s: {command[:2]}")
            if process.poll() is not None:
                sys.exit(f"a server ended with status {process.returncode}: {command[:2]}")
            time.sleep(0.02)
        yield port, process.pid, cpu_s(process.pid)
    finally:
        process.terminate()
        process.wait()


def connected(port: int) -> socket.socket:
    """A WebSocket whose episode has begun."""
    link = socket.create_connection(("127.0.0.1", port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(
        b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    head = b""
    while b"\r\n\r\n" not in head:
        head += link.recv(1)
    link.sendall(RESET)
    answer = b""
    while not whole(answer):
        answer += link.recv(1 << 17)
    return link


def whole(data: bytes) -> bool:
    """Whether a frame has come to its end."""
    if len(data) < 10:
        return False
    size, head = data[1], 2
    if size == 126:
        size, head = struct.unpack(">H", data[2:4])[0], 4
    elif size == 127:
        size, head = struct.unpack(">Q", data[2:10])[0], 10
    return len(data) >= head + size


def steps(port: int, pid: int, sessions: int) -> tuple[float, float]:
    """Steps a second, and CPU microseconds of the server a step."""
    selector, parts = selectors.DefaultSelector(), {}
    for _ in range(sessions):
        link = connected(port)
        selector.register(link, selectors.EVENT_READ)
        parts[link] = b""
    count, cpu, begun = 0, cpu_s(pid), time.perf_counter()
    for link in parts:
        link.sendall(STEP)
    while (taken := time.perf_counter() - begun) < SECONDS:
        for key, _ in selector.select():
            link = key.fileobj
            answer = parts[link] + link.recv(1 << 17)
            if whole(answer):
                count += 1
                parts[link] = b""
                link.sendall(RESET if b'"done":true' in answer[-80:] else STEP)
            else:
                parts[link] = answer
    used = cpu_s(pid) - cpu
    for link in parts:
        link.close()
    return count / taken, 1e6 * used / count


def main() -> None:
    script = str(Path(sys.executable).with_name("openfingym"))
    servers = {
        "openfingym": [script, "env", "serve", "--openenv", TASK, "--port", "PORT"],
        "echo": [sys.executable, "-c", ECHO, "PORT"],
    }
    if importlib.util.find_spec("openenv"):
        servers["openenv"] = [sys.executable, "-c", OWN, "PORT"]
    figures: dict[tuple[str, int], list[tuple[float, float]]] = {}
    starts = {}
    with contextlib.ExitStack() as stack:
        running = {name: stack.enter_context(served(command)) for name, command in servers.items()}
        for name, (port, _, start) in running.items():
            starts[name] = start
            connected(port).close()
        for _ in range(ROUNDS):
            for sessions in SESSIONS:
                for name, (port, pid, _) in running.items():
                    figures.setdefault((name, sessions), []).append(steps(port, pid, sessions))
    print(f"{'server':12}{'sessions':>9}{'steps/s':>10}{'CPU us':>8}{'steps/s beside':>16}")
    for (name, sessions), values in figures.items():
        rate, cpu = (statistics.median(column) for column in zip(*values, strict=True))
        own = statistics.median(rate for rate, _ in figures["openfingym", sessions])
        print(f"{name:12}{sessions:9}{rate:10.0f}{cpu:8.0f}{own / rate:15.2f}x")
    for name, start in starts.items():
        print(f"{name} answers after {start:.2f} CPU s")


if __name__ == "__main__":
    main()
