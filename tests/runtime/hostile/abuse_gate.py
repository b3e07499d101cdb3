"""Speaks raw HTTP to its gate and tries to reach more of the verifier than it may."""

import os
import socket

GATE = os.environ.get("OPENFINGYM_GATE", "/run/openfingym/gate.sock")
HOST = "Host: gate\r\n"

breaches = []


def talk(raw, wait=3.0):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(wait)
        answer = b""
        try:
            client.connect(GATE)
            client.sendall(raw)
            while block := client.recv(65536):
                answer += block
        except OSError:
            pass
        return answer


def request(line, headers="", body=b""):
    return f"{line} HTTP/1.1\r\n{HOST}Connection: close\r\n{headers}\r\n".encode() + body


forbidden = [
    "POST /v1/rollouts", "GET /v1/rollouts/x", "POST /v1/rollouts/x/finalize", "GET /v1/rollouts/x/log",
    "GET /v1/tasks", "GET /metrics",
    "GET /openapi.json", "GET /v1/task?x=1", "GET /v1/../v1/tasks", "GET /v1/task/../tasks", "GET /v1/%2e%2e/metrics",
    "GET //v1/tasks",
    "GET /v1/task/", "GET /v1/Task", "GET http://verifier/metrics", "CONNECT verifier:80", "OPTIONS *",
    "DELETE /v1/rollout",
    "PUT /v1/submissions", "TRACE /v1/task", "GET /v1/task%00", "GET /v1/task#x", "POST /v1/task",
]  # fmt: skip
for line in forbidden:
    answer = talk(request(line, "Content-Length: 2\r\nContent-Type: application/json\r\n", b"{}"))
    if answer.startswith(b"HTTP/1.1 2"):
        breaches.append(f"{line} was answered: {answer[:60]!r}")

hidden = b"GET /metrics HTTP/1.1\r\nHost: gate\r\n\r\n"
POST = f"POST /v1/submissions HTTP/1.1\r\n{HOST}"
CHUNKED = "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
smuggled = {
    "length and chunked": f"{POST}Content-Type: application/json\r\nContent-Length: 5\r\n{CHUNKED}",
    "two lengths": f"{POST}Content-Length: 0\r\nContent-Length: {len(hidden)}\r\n\r\n",
    "odd chunked": f"{POST}Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n",
    "header injection": f"{POST}Idempotency-Key: a\rX: b\r\nContent-Length: 0\r\n\r\n",
    "upgrade": f"GET /v1/task HTTP/1.1\r\n{HOST}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
}
for name, raw in smuggled.items():
    answer = talk(raw.encode() + hidden)
    if b"# HELP" in answer or answer.startswith((b"HTTP/1.1 101",)):
        breaches.append(f"{name}: {answer[:80]!r}")

answer = talk(request("GET /v1/task", "X-Padding: " + "a" * 1_000_000 + "\r\n"))
if answer.startswith(b"HTTP/1.1 2"):
    breaches.append("a header of 1 MB was accepted")

held = []
answered = 0
for _ in range(200):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(0.2)
    try:
        client.connect(GATE)
        client.sendall(request("GET /v1/task").replace(b"Connection: close\r\n", b""))
        answered += client.recv(12) == b"HTTP/1.1 200"
        held.append(client)
    except OSError:
        client.close()
        break
if answered > 64:
    breaches.append(f"{answered} connections were kept open at once")
print("answered", answered)
print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
