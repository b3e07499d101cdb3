"""CPU of the harness a turn of a language model's conversation: everything but the model and the code that runs.

Run: ``python benchmarks/turns.py``. The agent is `react`; its model answers at once, from a process of its own, and
calls ``run_python`` in every turn, with a program and an output of a kilobyte each, so that the conversation grows as
real ones do. The programs run in a workspace, outside this process, and so does the verifier.

Counted is the CPU of this process, of all its threads and of the kernel for it, over whole rollouts: their start, every
request, answer and call, the budget that is asked of the verifier, the record and its files. What is spent before the
first rollout (imports, building the task, starting the verifier) is not. Limit: 5 ms a turn, in conversations of 40
turns. Beside it stands what the `openai` client takes for the same requests when a program calls it as its page says.
All take turns, and each is given its best one: a busy machine makes the same work cost more.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import math
import multiprocessing
import pstats
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Event
from pathlib import Path

import openai
from size import sized, status

from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.models import Allowance, ModelSpec
from openfingym.models.testing import Call, CompletionRequest, Reply, StandIn
from openfingym.models.wire import request_message, request_tool
from openfingym.packages.build import build
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.trajectory import RolloutRecord, read_rollout

TASK = "treasury-forecast"
TURNS = sized(40, 2)
AT_ONCE = sized((1, 16), (1,))
ROUNDS = sized(3, 1)
LIMIT_MS = 5.0
PROGRAM = "".join(f"step_{line} = 'what a program of a model says in its line number {line}'\n" for line in range(12))
PROGRAM += "print('\\n'.join(f'row {row}: ' + 12 * ' 0.123' for row in range(12)))\n"


class Steady:
    """A model that runs one program after the other."""

    def respond(self, request: CompletionRequest) -> Reply:
        """Continue the conversation."""
        return Reply(
            f"I try the {request.turn}. thing, which ought to be better.", (Call("run_python", {"code": PROGRAM}),)
        )


def serve(told: multiprocessing.SimpleQueue[str], done: Event) -> None:
    """A stand-in in a process of its own."""
    with StandIn(policies={"steady": Steady()}) as stand_in:
        told.put(stand_in.base_url)
        done.wait()


def measure(launcher: Launcher, model: ModelSpec, at_once: int, out: Path) -> float:
    """CPU milliseconds a turn."""
    package, agent = launcher.packages[0], resolve("react")

    def one(seed: int) -> int:
        result = launcher.run(
            package, agent, RolloutOrder(seed=seed), model=model, allowance=Allowance(turns=TURNS), out=out
        )
        assert (result.ended_by, result.turns, result.boundary) == ("turns", TURNS, "agent"), result
        return result.turns

    with ThreadPoolExecutor(at_once) as pool:
        before = time.process_time()
        total = sum(pool.map(one, range(max(2, at_once))))
        return 1000 * (time.process_time() - before) / total


def client_alone(url: str, record: RolloutRecord) -> float:
    """CPU milliseconds of the client for each request of a conversation."""

    async def conversation() -> float:
        tools = [request_tool(tool) for tool in record.tools]
        said = [request_message(message) for message in record.conversation()]
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            before = time.process_time()
            for end in (number for number, message in enumerate(said) if message["role"] == "assistant"):
                await client.chat.completions.create(
                    model="steady", messages=said[:end], tools=tools, max_tokens=16_384, seed=0
                )
            return 1000 * (time.process_time() - before) / TURNS

    return asyncio.run(conversation())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--profile", action="store_true", help="print where the CPU of the conversations' thread goes")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    told, done = context.SimpleQueue(), context.Event()
    server = context.Process(target=serve, args=(told, done))
    server.start()
    best = dict.fromkeys(("the client alone", *AT_ONCE), math.inf)
    try:
        model = ModelSpec.parse("steady", base_url=(url := told.get()))
        with (
            tempfile.TemporaryDirectory() as name,
            Launcher([build(load_task(TASK))], backend=options.backend) as launcher,
        ):
            out = Path(name)
            measure(launcher, model, 1, out)
            if options.profile:
                profile(launcher, model, out)
                return 0
            record = read_rollout(next(out.glob("*/trajectory.json")))
            for _ in range(ROUNDS):
                found = [client_alone(url, record), *(measure(launcher, model, at_once, out) for at_once in AT_ONCE)]
                best = {path: min(best[path], cpu_ms) for path, cpu_ms in zip(best, found, strict=True)}
    finally:
        done.set()
        server.join()
    print(f"{'CPU of a turn, ' + str(TURNS) + ' turns':<28}{'ms':>6}")
    for path, cpu_ms in best.items():
        print(
            f"{path if isinstance(path, str) else f'rollouts, {path} at once':<28}{cpu_ms:>6.2f}"
            + f"   limit {LIMIT_MS:g}" * isinstance(path, int)
        )
    return status(all(best[at_once] <= LIMIT_MS for at_once in AT_ONCE))


def profile(launcher: Launcher, model: ModelSpec, out: Path) -> None:
    """Profile the thread in which the conversations run."""
    profiler = cProfile.Profile(time.thread_time)
    conversations = launcher._parts.conversations()
    conversations.call(profiler.enable)
    measure(launcher, model, 1, out)
    conversations.call(profiler.disable)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(45)
    pstats.Stats(profiler).sort_stats("cumtime").print_stats(60)


if __name__ == "__main__":
    sys.exit(main())
