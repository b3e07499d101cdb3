"""What the harness takes for itself: the model answers at once, in this process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

import pytest

from openfingym.agents.llm.playing import PlayedConversation
from openfingym.models import Completion, Message, Tool, ToolCall, Usage

TURNS = 200


class Holder:
    """A model that lets one step pass after the other."""

    name = "holder"

    def __init__(self) -> None:
        self._numbers = itertools.count()

    async def complete(self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **_: object) -> Completion:
        assert {tool.name for tool in tools} == {"run_python", "read_file", "write_file", "start_episode", "step"}
        number = next(self._numbers)
        call = ToolCall(f"c{number}", "step", '{"action": null}') if number else ToolCall("c0", "start_episode", "")
        return Completion(
            Message("assistant", "I hold.", (call,)), "tool_calls", Usage(1000, 10), self.name, cost_usd=0.0
        )


@pytest.mark.sandbox
def test_a_turn_takes_little(talk: Callable[..., PlayedConversation]) -> None:
    before = time.process_time()
    played = talk("react", Holder(), turns=TURNS)
    cpu_ms = 1000 * (time.process_time() - before) / TURNS
    assert (played.ending.how, played.failure, len(played.rewards)) == ("turns", None, TURNS - 1)
    # The step itself, asked of the verifier, is in it; so are the text of the observation and the record.
    assert cpu_ms < 5.0, f"{cpu_ms:.2f} ms of CPU a turn"
