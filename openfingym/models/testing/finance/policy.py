"""How the stand-in answers financial questions: with figures where there are tools for them, else from pages.

It sees what a model sees, the conversation. Its plan is begun anew at every message and is told everything that
was answered so far, so that it needs no memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from openfingym.models.testing.conversation import Call, CompletionRequest
from openfingym.models.testing.finance.figures import Plan, exchange_rate, instrument, policy_rate, yields
from openfingym.models.testing.finance.pages import read_pages
from openfingym.models.testing.finance.reading import ReadQuestion, holds
from openfingym.models.testing.finance.reports import statement, statistic

UNKNOWN = "unknown"
"""What it answers where it found nothing, and has no tools: it knows no figure by heart."""
_ASKED = re.compile(r"[Aa]sked as of (\d{4}-\d\d-\d\dT[\d:.+Z-]+):\s+(.*?)(?=\n\nThe answer:|\Z)", re.DOTALL)
_FX = ("ECB", "European Central Bank", "欧洲央行", "欧洲中央银行")
_REPORTS = (
    "fiscal", "财年", "reported", "披露", "balance sheet", "months to", "止", "GAAP", "会计准则", "filing", "IFRS",
    "10-K",
)  # fmt: skip


def question_in(texts: Sequence[str]) -> tuple[ReadQuestion, int] | None:
    """The latest question of a conversation, and the place of the message that holds it."""
    for place in range(len(texts) - 1, -1, -1):
        if found := [*_ASKED.finditer(texts[place])]:
            return ReadQuestion(found[-1][2].strip(), found[-1][1]), place
    return None


def financial(names: Collection[str]) -> bool:
    """Whether these are tools of financial search."""
    return "open_page" in names and "calculator" in names


def next_step(asked: ReadQuestion, tools: frozenset[str], answered: Sequence[str]) -> Call | str:
    """The next call, or the answer.

    Args:
        asked: the question.
        tools: names of the tools that there are.
        answered: what the calls so far were answered.
    """
    plan = _plan(asked, tools)
    told = iter(answered)
    try:
        call = next(plan)
        for text in told:
            call = plan.send(read(text))
    except StopIteration as end:
        return end.value or UNKNOWN
    except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError):
        return UNKNOWN  # what was shown has another form than it thought
    return call


def read(text: str) -> Mapping[str, Any]:
    """What a tool answered, as data; of an answer that was cut off, its whole rows. Empty for a refusal."""
    start = text.find("{")
    if start < 0:
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        whole = text[start:].rpartition("], [")[0]
        try:
            found = json.loads(f"{whole}]]}}")
            found["more_from"] = found["rows"][-1][0]
        except (ValueError, KeyError, IndexError):
            return {}
    return found if isinstance(found, dict) else {}


def _plan(asked: ReadQuestion, tools: frozenset[str]) -> Plan:
    answer = None
    if "quote" in tools:
        answer = yield from _figures(asked)(asked)
    if answer is None and "search" in tools:
        answer = yield from read_pages(asked)
    return answer


def _figures(asked: ReadQuestion) -> Callable[[ReadQuestion], Plan]:
    text = asked.text
    if holds(text, *_FX):
        return exchange_rate
    if asked.tenors and holds(text, "Treasury"):
        return yields
    if holds(text, "federal funds", "Fed's", "FOMC"):
        return policy_rate
    if holds(text, *_REPORTS):
        return statement
    return instrument if asked.symbols else statistic


def steps_of(request: CompletionRequest) -> tuple[ReadQuestion, list[str]] | None:
    """The question of a request, and what tools answered since it was put; None for another conversation."""
    told = [(message.role, message.content) for message in request.messages]
    found = question_in([content if role in {"user", "system"} else "" for role, content in told])
    if found is None:
        return None
    asked, place = found
    observed = [
        content
        for role, content in told[place + 1 :]
        if role == "tool" or (role == "user" and content.startswith(("Observation:", "<observation>")))
    ]
    return asked, observed
