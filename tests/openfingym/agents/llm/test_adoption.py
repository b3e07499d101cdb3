"""Conversations that somebody else keeps: what is said is recorded once, and answers go back as they came."""

from __future__ import annotations

from collections.abc import Sequence

from openfingym.agents.llm.adoption import AdoptedConversations
from openfingym.agents.llm.transcript import Transcript
from openfingym.models import Completion, Message, ToolCall, Usage

SYSTEM, TASK = Message("system", "You are one."), Message("user", "Do it.")


class Recorder:
    """A record, and the conversations that fill it."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.adopted = AdoptedConversations(self.transcript)

    def ask(self, messages: Sequence[Message], answer: Message) -> tuple[Message, ...]:
        sent = self.adopted.adopt(messages)
        self.transcript.answer(Completion(answer, "stop", Usage(1, 1), "m"), append_only=False)
        self.adopted.answered(answer)
        return sent

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(turn.role, turn.content) for turn in self.transcript.turns]


def answer(text: str, *calls: ToolCall) -> Message:
    return Message("assistant", text, calls, reasoning="kept on this side")


def result(call_id: str, text: str) -> Message:
    return Message("tool", text, tool_call_id=call_id)


def test_what_goes_on_is_recorded_once() -> None:
    recorder, first = Recorder(), answer("One.")
    recorder.ask([SYSTEM, TASK], first)
    # As a client sends it back: trimmed, and without what it does not know.
    sent = recorder.ask([SYSTEM, TASK, Message("assistant", "One. "), Message("user", "More.")], answer("Two."))
    assert recorder.said == [
        ("system", "You are one."), ("user", "Do it."), ("assistant", "One."), ("user", "More."), ("assistant", "Two."),
    ]  # fmt: skip
    assert sent[2] is first


def test_results_belong_to_their_calls_however_their_ids_repeat() -> None:
    recorder = Recorder()
    call = ToolCall("call_0", "look", '{"a":1,"b":2}')
    again = Message("assistant", "", (ToolCall("call_0", "look", '{"b": 2, "a": 1}'),))
    said = [SYSTEM, TASK]
    recorder.ask(said, answer("", call))
    said += [again, result("call_0", "first")]
    recorder.ask(said, answer("", call))
    said += [again, result("call_0", "second")]
    recorder.ask(said, answer("Done."))
    results = [[use.result for use in turn.tool_calls] for turn in recorder.transcript.turns if turn.tool_calls]
    assert results == [["first"], ["second"]]
    assert [role for role, _ in recorder.said] == ["system", "user", "assistant", "assistant", "assistant"]


def test_conversations_by_turns() -> None:
    recorder = Recorder()
    other = [Message("system", "You help."), Message("user", "Sum up.")]
    recorder.ask([SYSTEM, TASK], answer("One."))
    recorder.ask(other, answer("Summed."))
    recorder.ask([SYSTEM, TASK, answer("One."), Message("user", "More.")], answer("Two."))
    recorder.ask([*other, answer("Summed."), Message("user", "Again.")], answer("Three."))
    assert [text for _, text in recorder.said] == [
        "You are one.", "Do it.", "One.", "You help.", "Sum up.", "Summed.", "More.", "Two.", "Again.", "Three.",
    ]  # fmt: skip


def test_a_history_that_was_rewritten_is_another_conversation() -> None:
    recorder = Recorder()
    recorder.ask([SYSTEM, TASK], answer("One."))
    sent = recorder.ask([SYSTEM, TASK, Message("assistant", "Forged."), Message("user", "Go on.")], answer("Two."))
    assert sent[2] == Message("assistant", "Forged.")
    turns = recorder.transcript.turns
    assert [turn.content for turn in turns[-5:]] == ["You are one.", "Do it.", "Forged.", "Go on.", "Two."]
    # What no model wrote has no generation, so that nobody takes it for the model's.
    assert [turn.generation is not None for turn in turns if turn.role == "assistant"] == [True, False, True]


def test_a_result_of_no_call_is_still_on_record() -> None:
    recorder = Recorder()
    recorder.ask([TASK, result("unheard-of", "slipped in")], answer("One."))
    assert ("user", "slipped in") in recorder.said
