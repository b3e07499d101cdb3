"""Conversations that somebody else keeps: what is said is recorded once, and answers go back as they came."""

from __future__ import annotations

from collections.abc import Sequence

from openfingym.agents.llm.adoption import MOST_CONVERSATIONS, AdoptedConversations
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
    assert sent[2] == first
    assert sent[2].reasoning == "kept on this side"


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


def test_what_goes_on_is_what_every_endpoint_takes() -> None:
    recorder = Recorder()
    bad = ToolCall("1", "look at", "no JSON")
    recorder.ask([TASK], answer("", bad))
    said = [TASK, Message("assistant", "", (bad,)), result("1", "unreadable")]
    recorder.ask(said, Message("assistant"))
    sent = recorder.ask([*said, Message("assistant"), Message("user", "Go on.")], answer("Done."))
    assert sent[1].tool_calls == (ToolCall("1", "look_at", '{"unreadable": "no JSON"}'),)
    # The thoughts of its own answer are still there, for an endpoint that wants them back.
    assert sent[1].reasoning == "kept on this side"
    assert sent[3].content == "(nothing)"
    assert len(recorder.said) == 5


def test_the_longest_beginning_counts() -> None:
    recorder = Recorder()
    recorder.ask([TASK], answer("One."))
    recorder.ask([TASK, Message("assistant", "One."), Message("user", "More.")], answer("Two."))
    before = len(recorder.said)
    # The same beginning once more: nothing of it is new, and the answer is another one.
    again = [TASK, Message("assistant", "One."), Message("user", "More."), Message("assistant", "Two.")]
    recorder.ask(again, answer("Three."))
    assert [text for _, text in recorder.said[before:]] == ["Three."]


def test_of_many_conversations_those_that_went_on_last_are_known() -> None:
    recorder = Recorder()
    kept = [Message("user", "kept"), Message("assistant", "Yes.")]
    recorder.ask(kept[:1], answer("Yes."))
    for number in range(MOST_CONVERSATIONS - 1):
        recorder.ask([Message("user", str(number))], answer("Yes."))
    recorder.ask([*kept, Message("user", "On.")], answer("Yes."))
    recorder.ask([Message("user", "one more")], answer("Yes."))
    said = len(recorder.said)
    # It went on, so the oldest of the others was given up in its place, and is recorded anew.
    recorder.ask([*kept, Message("user", "On."), Message("assistant", "Yes."), Message("user", "On.")], answer("Yes."))
    assert len(recorder.said) == said + 2
    recorder.ask([Message("user", "0"), Message("assistant", "Yes."), Message("user", "On.")], answer("Yes."))
    assert len(recorder.said) == said + 2 + 4
