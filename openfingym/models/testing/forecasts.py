"""How the stand-in forecasts: a figure as a year before, moved by the last year's growth; an event as its news lean.

It sees what a model sees, the conversation: what it calls next follows from what was answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from openfingym.models.testing.conversation import Call, CompletionRequest, Reply
from openfingym.models.testing.finance.policy import read

ANSWER_TOOL = "answer"
PLANS = "answer with a plan"
"""What a message says that asks for a plan, and takes no call."""
READ = 3
"""Documents that it opens for an event."""
PERIODS = 8
_REQUIREMENT = re.compile(r"Requirements:\s+Provide your prediction as (either|a single number)")
_DETAIL = re.compile(r"^- ([^:\n]+): (.+)$", re.MULTILINE)
_FOR = (
    *("cleared", "has grown", "to sign", "dropped", "all but settled", "on schedule", "now expect", "what they asked"),
    *("confirms", "official"),
)
_AGAINST = (
    *("unanswered", "thinned", "sent back", "gaining ground", "hard to defend", "fallen behind", "preparing for less"),
    *("now doubt", "ruled out", "will not"),
)


def forecast_reply(request: CompletionRequest) -> Reply | None:
    """The next message about a forecast; None for another conversation."""
    places = [place for place, one in enumerate(request.messages)
              if one.role in {"user", "system"} and _REQUIREMENT.search(one.content)]  # fmt: skip
    if not places:
        return None
    question = request.messages[places[-1]].content
    tools = frozenset(request.tools) or frozenset(name for name in ("history", "search_news", "open_document")
                                                  if f"- {name}(" in request.text)  # fmt: skip
    if not request.tools and PLANS in request.last:
        return Reply("1. Look up what was published, and what is reported.\n2. Mind the unit and the day.")
    since = request.messages[places[-1] + 1 :]
    told = [read(one.content) for one in since
            if one.role == "tool" or one.content.startswith(("Observation:", "<observation>"))]  # fmt: skip
    drafts = [call.arguments for call in request.calls if call.name == ANSWER_TOOL]
    if drafts and not tools:  # it had tools, and is asked for what came of them
        return _answered(request, str(json.loads(drafts[-1])["answer"]))
    try:
        step = _next(question, tools, told)
    except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError):
        step = "unknown"  # what was shown has another form than it thought
    if isinstance(step, str):
        return _answered(request, step)
    if request.tools:
        return Reply("I look it up.", (step,))
    return _in_words(request, step)


def _next(question: str, tools: frozenset[str], told: Sequence[Mapping[str, Any]]) -> Call | str:
    """The next call, or the answer."""
    details = dict(_DETAIL.findall(question))
    asked = _REQUIREMENT.search(question)
    if asked is not None and asked[1] == "either":
        return _event(question, details, tools, told)
    if "history" not in tools:
        return "unknown"
    if not told:
        about: dict[str, object] = {"subject": details.get("Series") or details["Ticker"], "periods": PERIODS}
        return Call("history", about | ({"measure": details["Metric"]} if "Metric" in details else {}))
    values = [float(row[1]) for row in told[0]["rows"]]
    if "Metric" in details and len(values) > 4 and min(values[-1], values[-4], values[-5]) > 0:
        return repr(values[-4] * min(max(values[-1] / values[-5], 0.25), 4.0))
    return repr(values[-1])


def _event(
    question: str, details: Mapping[str, str], tools: frozenset[str], told: Sequence[Mapping[str, Any]]
) -> Call | str:
    if "search_news" not in tools:
        return "NO"
    text = next((line for line in question.splitlines() if "?" in line), question).partition("SIMULATED: ")[2]
    if not told:
        return Call(
            "search_news", {"query": text[:400] or question[:400], "subject": _subject(details), "limit": READ + 2}
        )
    found = [one["id"] for one in told[0].get("results", []) if not one["official"]][:READ]
    if len(told) <= len(found) and "open_document" in tools:
        return Call("open_document", {"id": found[len(told) - 1]})
    read_texts = " ".join(str(one.get("text", "")) for one in told[1:])
    lean = sum(read_texts.count(word) for word in _FOR) - sum(read_texts.count(word) for word in _AGAINST)
    return "YES" if lean > 0 else "NO"


def _subject(details: Mapping[str, str]) -> str:
    return details.get("Ticker") or details.get("Economy") or details["Company"]


def _answered(request: CompletionRequest, answer: str) -> Reply:
    if ANSWER_TOOL in request.tools:
        return Reply("This is my forecast.", (Call(ANSWER_TOOL, {"answer": answer}),))
    if "<function_call>" in request.text:
        return Reply(f"<think>This is my forecast.</think>\n<answer>{answer}</answer>")
    if "Submission Format" in request.text:
        return Reply(f"| Field | Value |\n|-----|-----|\n| Prediction | {answer} |")
    label = "Thought: " if '"Thought"' in request.text else ""
    return Reply(f"{label}This is my forecast.\n{'Action: ' if label else ''}Final Answer: {answer}")


def _in_words(request: CompletionRequest, call: Call) -> Reply:
    given = call.arguments if isinstance(call.arguments, Mapping) else {}
    line = f"{call.name}({', '.join(f'{name}={value!r}' for name, value in given.items())})"
    if "<function_call>" in request.text:
        return Reply(f"<think>I look it up.</think>\n<function_call>{line}</function_call>")
    return Reply(f"Thought: I look it up.\nAction: {line}")
