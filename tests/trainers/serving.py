"""The commands that serve, as a user starts them, and a client of the MCP's SDK, of either major version."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCRIPT = str(Path(sys.executable).with_name("openfingym"))
PROGRAM = """
import numpy as np, interface
steps, channels = interface.SUBMISSION_SHAPE[1:]
interface.predict_each(lambda shown: np.repeat(shown[:, -1:, :channels], steps, axis=1))
"""


@contextlib.contextmanager
def command(*arguments: str) -> Iterator[str]:
    """A command of ours that serves; gives its URL."""
    with subprocess.Popen([SCRIPT, *arguments], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            found = next((match for line in lines if (match := re.search(r" on (http://\S+)", line))), None)
            assert found is not None, "it does not listen"
            yield found[1]
        finally:
            process.terminate()
            assert process.wait(60.0) == 0


async def plays(session: Any) -> Any:
    """Have a session of the SDK's client play a task by the naive answer; gives the result of ``finish``."""
    hello = await session.initialize()
    assert "Treasury yield forecast" in hello.instructions
    offered = (await session.list_tools()).tools
    assert [tool.name for tool in offered] == ["run_python", "read_file", "write_file", "finish"]
    assert (await session.list_resources()).resources[0].name == "instruction"
    assert (await session.get_prompt("play")).messages[0].role == "user"
    told = await session.call_tool("run_python", {"code": PROGRAM})
    assert not told.isError
    return await session.call_tool("finish", {})


async def by_stdio(out: Path) -> Any:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    arguments = ["mcp", "treasury-forecast", "--split", "train", "--out", str(out), "--backend", "sandbox"]
    async with (
        stdio_client(StdioServerParameters(command=SCRIPT, args=arguments)) as (reads, writes),
        ClientSession(reads, writes) as session,
    ):
        return await plays(session)


async def by_http(url: str) -> Any:
    from mcp import ClientSession
    from mcp.client import streamable_http

    # Its name has another underscore in the second major version.
    connect = getattr(streamable_http, "streamable_http_client", None) or streamable_http.streamablehttp_client
    async with connect(url) as streams, ClientSession(streams[0], streams[1]) as session:
        return await plays(session)


def check_both_ways(folder: Path) -> None:
    """The SDK's client plays a rollout by stdio and one over HTTP, and both are kept with the same score."""
    import asyncio

    from openfingym.results import read_run

    ended = asyncio.run(by_stdio(folder / "stdio"))
    assert "relative total 1 " in ended.content[0].text
    serving = ("mcp", "treasury-forecast", "--split", "train", "--http", "--port", "0", "--backend", "sandbox")
    with command(*serving, "--out", str(folder / "http")) as url:
        again = asyncio.run(by_http(url))
    assert "relative total 1 " in again.content[0].text
    for way in ("stdio", "http"):
        (kept,) = (folder / way).iterdir()
        assert read_run(kept).relative_total == 1.0
