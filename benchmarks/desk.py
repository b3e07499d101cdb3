"""What a desk costs: a call through an episode beside the same call of the toolbox, and a group of one-shot rollouts.

python benchmarks/desk.py
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

from size import SHORT, sized

from openfingym.models.messages import ToolCall
from openfingym.training import Desk
from openfingym_runtime.backends import select

TASK = "treasury-forecast"
CALLS = sized(36, 3)
"""As many as an episode has turns, nearly: the cost of one grows with the conversation."""
GROUP = sized(32, 2)
NAIVE = """```python
import numpy as np, interface
interface.predict_each(lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1))
```"""


def median_s(call: Callable[[], object]) -> tuple[float, float]:
    """Median seconds of a call, and seconds of processor time of this process for each."""
    took, cpu = [], time.process_time()
    for _ in range(CALLS):
        begun = time.perf_counter()
        call()
        took.append(time.perf_counter() - begun)
    return statistics.median(took), (time.process_time() - cpu) / CALLS


def calls() -> None:
    """The same call by hand and through an episode, in one run and one workspace, by turns."""
    from openfingym.models.meter import Allowance

    with Desk([TASK], split="test", allowance=Allowance(turns=10_000, useless=10_000)) as desk:
        episode = desk.open_sync(TASK)
        episode.call_sync("write_file", {"path": "a.txt", "content": "a"})
        toolbox = episode._running.driver.session.tools  # type: ignore[union-attr]
        loop = asyncio.new_event_loop()
        arguments: dict[str, Any] = {"code": 5}  # refused before anything is run: what is left is the way there

        def by_hand() -> object:
            return loop.run_until_complete(toolbox.use(ToolCall("a", "run_python", '{"code": 5}'), message=0))

        direct, through = median_s(by_hand), median_s(lambda: episode.call_sync("run_python", arguments))
        for what, ours, theirs in zip(("by the clock", "of processor time"), through, direct, strict=True):
            print(
                f"a call of the toolbox {1e3 * theirs:.3f} ms, through an episode {1e3 * ours:.3f} ms {what}: "
                f"{1e3 * (ours - theirs):.3f} ms more"
            )
        loop.close()


def group(backend: str) -> None:
    """A step of one-shot rollouts whose policy takes no time."""
    with Desk([TASK], agent="oneshot", places=8, backend=backend) as desk:
        desk.group_sync([(TASK, 0)], lambda *_: NAIVE)
        for number in (1, 2):
            begun = time.perf_counter()
            played = desk.group_sync([(TASK, number)] * GROUP, lambda *_: NAIVE)
            assert all(one.reward == 0.0 for one in played)
            print(f"a group of {GROUP} one-shot rollouts, {backend}: {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    calls()
    group("sandbox")
    if not SHORT and select("auto", trusted=True).name == "docker":
        group("docker")
