"""How the stand-in forecasts: a figure by its value a year before and the last year's growth, an event by its news.

It sees what a model sees, the conversation: what it calls next follows from what tools have answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from openfingym.models.testing.conversation import Call, CompletionRequest, Reply
from openfingym_suites.stand_in.finance.policy import read

ANSWER_TOOL = "answer"
PLANS = "answer with a plan"
"""Words of a message that asks for a plan, and takes no call."""
READ = 3
"""Documents that are opened for an event."""
PERIODS = 8
"""Periods of a series that are looked up: two years of quarters."""
_REQUIREMENT = re.compile(r"Requirements:\s+Provide your prediction as (either|a single number)")
_DETAIL = re.compile(r"^- ([^:\n]+): (.+)$", re.MULTILINE)
# Words by which the simulated news lean towards an event, and against it.
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
    places = [place for place, item in enumerate(request.messages)
              if item.role in {"user", "system"} and _REQUIREMENT.search(item.content)]  # fmt: skip
    if not places:
        return None
    question = request.messages[places[-1]].content
    tools = frozenset(request.tools) or frozenset(name for name in ("history", "search_news", "open_document")
                                                  if f"- {name}(" in request.text)  # fmt: skip
    if not request.tools and PLANS in request.last:
        return Reply("1. Look up what was published, and what is reported.\n2. Mind the unit and the day.")
    since = request.messages[places[-1] + 1 :]
    told = [read(item.content) for item in since
            if item.role == "tool" or item.content.startswith(("Observation:", "<observation>"))]  # fmt: skip
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
    # Company figures are quarterly and seasonal, so the next is of the quarter that comes after the value four before
    # the last; growth beyond a factor of four is taken for an outlier.
    if "Metric" in details and len(values) > 4 and min(values[-1], values[-4], values[-5]) > 0:
        return repr(values[-4] * min(max(values[-1] / values[-5], 0.25), 4.0))
    return repr(values[-1])


def _event(
    question: str, details: Mapping[str, str], tools: frozenset[str], told: Sequence[Mapping[str, Any]]
) -> Call | str:
    """The next call about an event, or YES or NO: search its news, open the first few, and count words for and against.

    Args:
        question: text of the question.
        details: the lines of its details, by their names.
        tools: names of the tools that are offered.
        told: what tools have answered so far, the search first.
    """
    if "search_news" not in tools:
        return "NO"
    text = next((line for line in question.splitlines() if "?" in line), question).partition("SIMULATED: ")[2]
    if not told:
        return Call(
            "search_news", {"query": text[:400] or question[:400], "subject": _subject(details), "limit": READ + 2}
        )
    ids = [item["id"] for item in told[0].get("results", []) if not item["official"]][:READ]
    if len(told) <= len(ids) and "open_document" in tools:
        return Call("open_document", {"id": ids[len(told) - 1]})
    read_texts = " ".join(str(item.get("text", "")) for item in told[1:])
    lean = sum(read_texts.count(word) for word in _FOR) - sum(read_texts.count(word) for word in _AGAINST)
    return "YES" if lean > 0 else "NO"


def _subject(details: Mapping[str, str]) -> str:
    return details.get("Ticker") or details.get("Economy") or details["Company"]


def _answered(request: CompletionRequest, answer: str) -> Reply:
    """The answer in the form of the conversation: a call, tags, a table, or the words ``Final Answer:``."""
    if ANSWER_TOOL in request.tools:
        return Reply("This is my forecast.", (Call(ANSWER_TOOL, {"answer": answer}),))
    if "<function_call>" in request.text:
        return Reply(f"<think>This is my forecast.</think>\n<answer>{answer}</answer>")
    if "Submission Format" in request.text:
        return Reply(f"| Field | Value |\n|-----|-----|\n| Prediction | {answer} |")
    label = "Thought: " if '"Thought"' in request.text else ""
    return Reply(f"{label}This is my forecast.\n{'Action: ' if label else ''}Final Answer: {answer}")


def _in_words(request: CompletionRequest, call: Call) -> Reply:
    """A call that is written as text, in tags or as an action of ReAct."""
    arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
    line = f"{call.name}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    if "<function_call>" in request.text:
        return Reply(f"<think>I look it up.</think>\n<function_call>{line}</function_call>")
    return Reply(f"Thought: I look it up.\nAction: {line}")
