"""Episodes that are played from outside."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import UsageError
from openfingym.training import Desk
from tests.openfingym.rollouts.driving import descendants
from tests.warm_verifiers import is_verifier

pytestmark = pytest.mark.sandbox
TASK = "treasury-forecast"
OPEN_FILES = Path("/proc/self/fd")
NAIVE = """
import numpy as np, interface
interface.predict_each(lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1))
"""


@pytest.fixture(scope="module")
def others(store_home: object) -> frozenset[int]:
    """Verifiers of other tests in this process, which may need them yet."""
    return frozenset(process.pid for process in descendants(os.getpid()) if is_verifier(process))


@pytest.fixture(scope="module")
def desk(others: frozenset[int]) -> Iterator[Desk]:
    with Desk([TASK, "crypto-trading"], backend="sandbox", places=3) as found:
        yield found


def calling(code: str) -> dict[str, Any]:
    return {"tool_calls": [{"id": "a", "function": {"name": "run_python", "arguments": {"code": code}}}]}


def test_an_episode_is_played_to_a_verified_reward(desk: Desk) -> None:
    with desk.open_sync(TASK, 3) as episode:
        assert [message["role"] for message in episode.messages] == ["system", "user"]
        assert {tool["function"]["name"] for tool in episode.tools} == {
            "run_python",
            "read_file",
            "write_file",
        }
        before = list(episode.messages)
        assert "submission 1" not in episode.call_sync("run_python", {"code": "print(40 + 2)"})
        episode.call_sync("run_python", '{"code": ' + repr(NAIVE).replace("'", '"') + "}")
        assert episode.messages[: len(before)] == before
        assert episode.over, "the last window was answered"
    assert episode.reward == 0.0
    assert episode.failure is None
    assert episode.result is not None
    assert (episode.result.split, episode.result.instance, episode.result.state) == ("train", 3, "scored")
    assert [message["role"] for message in episode.messages[2:]] == ["assistant", "tool"] * 2
    assert episode.finish_sync() is episode.result


def test_mistakes_of_the_model_are_texts(desk: Desk) -> None:
    episode = desk.open_sync(TASK)
    assert "There is no tool 'fly'" in episode.call_sync("fly", {})
    assert episode.call_sync("read_file", {"path": "/task/instruction.md", "encoding": None}).startswith("# Treasury")
    assert "is a text, found int" in episode.call_sync("run_python", {"code": 5})
    assert "must be a JSON object" in episode.call_sync("run_python", "7")
    with pytest.raises(UsageError, match="expected a text"):
        episode.answer_sync(7)  # type: ignore[arg-type]
    episode.call_sync("run_python", {"code": {1, 2}})
    assert episode.over  # three in a row, as in an evaluation
    assert "over" in episode.call_sync("run_python", {"code": "print(1)"})
    episode.finish_sync()
    assert (episode.reward, episode.failure) == (-1.0, None)


def test_a_sequential_task_is_stepped_through(desk: Desk) -> None:
    with desk.open_sync("crypto-trading", 1) as episode:
        assert "Episode 1" in episode.call_sync("start_episode", {"practice": None})
        while not episode.over:
            text = episode.call_sync("step", {"action": None, "wait": 500})
        assert "last one" in text
    assert episode.result is not None
    assert episode.result.state == "scored"
    assert episode.reward is not None


def test_calls_of_one_episode_take_place_one_after_the_other(desk: Desk) -> None:
    async def play() -> list[str]:
        async with desk.open(TASK) as episode:
            programs = [f"open('n','a').write('{number}'); print(open('n').read())" for number in range(4)]
            return await asyncio.gather(*(episode.call("run_python", {"code": program}) for program in programs))

    assert asyncio.run(play()) == ["0", "01", "012", "0123"]


def test_synchronous_twins_work_inside_a_running_loop(desk: Desk) -> None:
    async def play() -> str:
        with desk.open_sync(TASK) as episode:
            return episode.call_sync("run_python", {"code": "print(5)"})

    assert asyncio.run(play()) == "5"


def test_one_shot_runs_its_block_once_and_is_over(store_home: object) -> None:
    with Desk([TASK], split="test", agent="oneshot", reward="graded", backend="sandbox") as desk:
        episode = desk.open_sync(TASK)
        assert episode.tools == []
        assert "no tools" in episode.call_sync("run_python", {"code": "1"})
        assert episode.say_sync(f"```python\n{NAIVE}\n```") is None
        assert episode.finish_sync() is not None
        assert episode.reward == 0.0
        failed = desk.open_sync(TASK)
        failed.say_sync("```python\nprint(1\n```")
        failed.finish_sync()
        assert failed.reward == -1.0
        ran = desk.open_sync(TASK)
        ran.say_sync("```python\nprint(1)\n```")
        ran.finish_sync()
        assert -1.0 < ran.reward < -0.75  # type: ignore[operator]


def test_the_stragglers_of_a_group_hold_up_nobody(desk: Desk) -> None:
    ended = threading.Event()

    def policy(messages: list[dict[str, Any]], _: object) -> dict[str, Any] | str:
        own = sum(message["role"] == "assistant" for message in messages)
        with lock:
            number = numbers.setdefault(id(messages), len(numbers))
        if number == 0:
            ended.wait()
        if number == 1:
            return calling("while True: pass")
        return "done" if own else calling(NAIVE)

    lock, numbers = threading.Lock(), dict[int, int]()
    played = desk.group_sync([(TASK, 0)] * 3, policy, deadline_s=15)
    ended.set()
    assert [one.reward for one in played].count(None) == 2
    assert [one.reward for one in played].count(0.0) == 1
    assert all("deadline" in (one.failure or "") for one in played if one.reward is None)


def test_a_policy_that_raises_is_a_failure_of_its_episode_alone(desk: Desk) -> None:
    def policy(messages: list[dict[str, Any]], _: object) -> str:
        raise RuntimeError("out of memory")

    (one,) = desk.group_sync([(TASK, 0)], policy)
    assert one.reward is None
    assert "out of memory" in (one.failure or "")


def test_forgotten_episodes_give_their_places_back(desk: Desk) -> None:
    """More of them than there are places; nothing of them stays."""
    desk.open_sync(TASK).finish_sync()
    gc.collect()
    threads, files = threading.active_count(), len(list(OPEN_FILES.iterdir()))
    for number in range(12):
        episode = desk.open_sync(TASK)
        if number == 5:
            episode.call_sync("run_python", {"code": "print(1)"})
        del episode
    end = time.monotonic() + 30
    while (desk._taken().places.taken or threading.active_count() > threads + 8) and time.monotonic() < end:
        time.sleep(0.1)
    assert desk._taken().places.taken == 0
    assert threading.active_count() <= threads + 8  # threads of the pool for blocking calls, of which there are 64
    assert len(list(OPEN_FILES.iterdir())) <= files + 12


def test_who_gives_up_waiting_for_a_place_leaves_the_queue(desk: Desk) -> None:
    async def play() -> None:
        held = await asyncio.gather(*(desk.open(TASK) for _ in range(3)))
        waiting = asyncio.ensure_future(desk.open(TASK))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.gather(*(episode.finish() for episode in held))
        await (await desk.open(TASK)).finish()

    asyncio.run(play())


def test_a_policy_that_never_answers_ends_its_episode_without_a_reward(store_home: object) -> None:
    with Desk([TASK], split="test", backend="sandbox", patience_s=0.5) as desk:
        episode = desk.open_sync(TASK)
        while not episode.over:
            time.sleep(0.05)
        episode.finish_sync()
        assert episode.reward is None
        assert "gave no answer" in (episode.failure or "")


def test_what_was_accepted_before_the_deadline_counts(store_home: object) -> None:
    with Desk([TASK], split="test", backend="sandbox", deadline_s=20) as desk:
        episode = desk.open_sync(TASK)
        episode.call_sync("run_python", {"code": NAIVE})
        episode._running.cut_at = time.monotonic()
        episode.call_sync("run_python", {"code": "while True: pass"})
        episode.finish_sync()
        assert (episode.reward, episode.failure) == (0.0, None)


def test_a_desk_is_a_specification() -> None:
    desk = Desk(["treasury-forecast", "crypto-trading"], split="validation")
    assert pickle.loads(pickle.dumps(desk)) == desk
    assert len(desk) == 20_000
    assert [(row["task"], row["index"]) for row in desk.rows(3)] == [
        ("treasury-forecast", 0),
        ("crypto-trading", 0),
        ("treasury-forecast", 1),
    ]
    assert desk._machinery is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tasks": []}, "at least one"),
        ({"tasks": [TASK, TASK]}, "more than once"),
        ({"tasks": [TASK], "split": "all"}, "split is 'all'"),
        ({"tasks": [TASK], "reward": "best"}, "known: 'bounded'"),
        ({"tasks": [TASK], "places": 0}, "at least 1"),
        ({"tasks": [TASK], "agent": "naive"}, "asks no model"),
        ({"tasks": [TASK], "deadline_s": -1}, "more than 0"),
    ],
)
def test_what_makes_no_desk_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Desk(**arguments)


def test_what_is_not_there_cannot_be_opened(desk: Desk) -> None:
    with pytest.raises(UsageError, match="no task of this desk"):
        desk.open("fx-forecast")
    with pytest.raises(UsageError, match="0 to 9999"):
        desk.open_sync(TASK, 10_000)


def test_a_brief_is_how_the_episode_begins(desk: Desk) -> None:
    brief = desk.brief(TASK, 2)
    with desk.open_sync(TASK, 2) as episode:
        assert episode.messages == list(brief.messages)
        assert episode.tools == list(brief.tools)


# httpx leaves a socket to the collector that could not be connected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_a_verifier_that_is_killed_is_replaced_and_its_rollouts_have_no_reward(
    desk: Desk, others: frozenset[int]
) -> None:
    episode = desk.open_sync(TASK)
    (verifier,) = (one for one in descendants(os.getpid()) if is_verifier(one) and one.pid not in others)
    verifier.kill()
    episode.call_sync("run_python", {"code": NAIVE})
    episode.finish_sync()
    assert episode.reward is None
    assert "verifier" in (episode.failure or "")
    with desk.open_sync(TASK) as following:
        following.call_sync("run_python", {"code": NAIVE})
    assert (following.reward, following.failure) == (0.0, None)


def test_a_forked_child_has_machinery_of_its_own_and_leaves_its_parents_alone(desk: Desk) -> None:
    episode = desk.open_sync(TASK)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        said = episode.call_sync("run_python", {"code": "print(1)"})
        with desk.open_sync(TASK) as own:
            own.call_sync("run_python", {"code": NAIVE})
        os.write(writing, f"{said} {own.reward}".encode())
        os._exit(0)
    assert os.read(reading, 1000).decode().endswith("over; nothing more can be done in it. 0.0")
    os.waitpid(child, 0)
    assert episode.call_sync("run_python", {"code": "print(8)"}) == "8"
    episode.finish_sync()
    assert episode.failure is None
