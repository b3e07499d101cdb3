"""The stand-in's messages about financial questions, in every form of conversation that asks them."""

from __future__ import annotations

import json

from openfingym.models.testing.conversation import Call, CompletionRequest, Reply
from openfingym_suites.stand_in.finance.policy import financial, next_step, steps_of

ANSWER_TOOL = "answer"
PLANS = "answer with a plan"
"""What a message says that asks for a plan, and takes no call."""
_LISTED = ("search", "open_page", "quote", "series", "statement", "calculator")


def financial_reply(request: CompletionRequest) -> Reply | None:
    """The next message about a financial question; None for another conversation."""
    if request.tools and not (financial(request.tools) or request.tools.keys() == {ANSWER_TOOL}):
        return None
    steps = steps_of(request)
    if steps is None:
        return None
    question, observed = steps
    names = frozenset(request.tools) or frozenset(name for name in _LISTED if f"- {name}(" in request.text)
    drafts = [call.arguments for call in request.calls if call.name == ANSWER_TOOL]
    if drafts and not names:  # it had tools, and is asked for what came of them
        return _answer(request, str(json.loads(drafts[-1])["answer"]), looked=True)
    if not financial(names) and not _about_money(request):
        return None
    if not request.tools and PLANS in request.last:
        return Reply(f"1. Look up what is asked: {question.text}\n2. Mind the day, the unit and the currency.")
    step = next_step(question, names, observed)
    if isinstance(step, str):
        return _answer(request, step, looked=bool(observed))
    if request.tools:
        return Reply("I look it up.", (step,))
    return _in_words(request, step)


def _about_money(request: CompletionRequest) -> bool:
    """Whether a question without tools is one of financial search, and not one of MIRAI about events."""
    return "CAMEO" not in request.text and "ISOCode" not in request.text and "The answer" in request.text


def _answer(request: CompletionRequest, answer: str, *, looked: bool) -> Reply:
    """The answer in the form of the conversation: a call, tags, or the words ``Final Answer:``."""
    why = "This is what I found." if looked else "I know no figure by heart."
    if ANSWER_TOOL in request.tools:
        return Reply(why, (Call(ANSWER_TOOL, {"answer": answer}),))
    if "<function_call>" in request.text:
        return Reply(f"<think>{why}</think>\n<answer>{answer}</answer>")
    label = "Thought: " if '"Thought"' in request.text else ""
    return Reply(f"{label}{why}\n{'Action: ' if label else ''}Final Answer: {answer}")


def _in_words(request: CompletionRequest, call: Call) -> Reply:
    """A call that is written as text, in tags or as an action of ReAct."""
    line = f"{call.name}({', '.join(f'{name}={value!r}' for name, value in _arguments(call))})"
    if "<function_call>" in request.text:
        return Reply(f"<think>I look it up.</think>\n<function_call>{line}</function_call>")
    return Reply(f"Thought: I look it up.\nAction: {line}")


def _arguments(call: Call) -> list[tuple[str, object]]:
    return [] if isinstance(call.arguments, str) else list(call.arguments.items())
