"""A program that fails is rejected, whatever it sent: only what our side failed at is run again, and nothing that was
told hidden data."""

from __future__ import annotations

from pathlib import Path

import pytest

from openfingym.agents import Agent
from openfingym.rollouts.single import run

PROGRAM = """
import socket, struct, sys

def post(body):
    with socket.socket(socket.AF_UNIX) as gate:
        gate.connect("/run/openfingym/gate.sock")
        head = "POST /v1/submissions HTTP/1.1\\r\\nHost: v\\r\\nContent-Type: application/x-npy\\r\\n"
        head += "Content-Length: %d\\r\\n\\r\\n" % len(body)
        gate.sendall(head.encode() + body)
        return int(gate.recv(65536).split()[1])

statuses = []
for shape in ("(True,)", "(1," * 1 + "1," * 64 + ")", "(0, %d)" % 2**70, "(" + "9" * 3900 + ",)", "(-1,)"):
    header = ("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\\n" % shape).encode()
    statuses.append(post(b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(header)) + header + bytes(8)))
print(*statuses)
sys.exit(1)
"""


@pytest.mark.sandbox
def test_bad_headers_and_a_bad_end_are_the_agents(store_home: Path, tmp_path: Path) -> None:
    result = run("amazon-fraud", Agent("unlucky", "program", PROGRAM), backend="sandbox", out=tmp_path)
    assert result.path is not None
    assert (result.path / "output.log").read_text().split() == ["422"] * 5
    assert (result.state, result.boundary, result.submissions_accepted, result.submissions_rejected) == (
        "rejected",
        "agent",
        0,
        5,
    )
