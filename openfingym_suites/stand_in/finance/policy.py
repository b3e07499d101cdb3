"""Which plan the stand-in follows for a financial question: figures where there are tools for them, else pages.

It sees what a model sees, the conversation. Its plan is begun anew at every message and is given all that tools have
answered so far, so that the stand-in needs no memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from openfingym.models.testing.conversation import Call, CompletionRequest
from openfingym_suites.stand_in.finance.figures import Plan, exchange_rate, instrument, policy_rate, yields
from openfingym_suites.stand_in.finance.pages import read_pages
from openfingym_suites.stand_in.finance.reading import ReadQuestion, holds
from openfingym_suites.stand_in.finance.reports import statement, statistic

UNKNOWN = "unknown"
"""The answer where nothing was found, or there are no tools: the stand-in knows no figure by heart."""
_ASKED = re.compile(r"[Aa]sked as of (\d{4}-\d\d-\d\dT[\d:.+Z-]+):\s+(.*?)(?=\n\nThe answer:|\Z)", re.DOTALL)
_FX = ("ECB", "European Central Bank", "欧洲央行", "欧洲中央银行")
_REPORTS = (
    "fiscal", "财年", "reported", "披露", "balance sheet", "months to", "止", "GAAP", "会计准则", "filing", "IFRS",
    "10-K",
)  # fmt: skip


def question_in(texts: Sequence[str]) -> tuple[ReadQuestion, int] | None:
    """The latest question in the texts of a conversation, and the position of the text that holds it."""
    for place in range(len(texts) - 1, -1, -1):
        if found := [*_ASKED.finditer(texts[place])]:
            return ReadQuestion(found[-1][2].strip(), found[-1][1]), place
    return None


def financial(names: Collection[str]) -> bool:
    """Whether these are tools of financial search."""
    return "open_page" in names and "calculator" in names


def next_step(question: ReadQuestion, tools: frozenset[str], answered: Sequence[str]) -> Call | str:
    """The next call, or the answer.

    Args:
        question: the question, as the stand-in reads it.
        tools: names of the tools that are offered.
        answered: texts with which tools answered the calls so far, in their order.
    """
    plan = _plan(question, tools)
    try:
        call = next(plan)
        for text in answered:
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
        document, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        # A table that was cut off in the middle of a row: closed behind the last whole row, from whose first column the
        # next call goes on.
        whole = text[start:].rpartition("], [")[0]
        try:
            document = json.loads(f"{whole}]]}}")
            document["more_from"] = document["rows"][-1][0]
        except (ValueError, KeyError, IndexError):
            return {}
    return document if isinstance(document, dict) else {}


def _plan(question: ReadQuestion, tools: frozenset[str]) -> Plan:
    """The plan for a question: figures first, pages where these come to nothing."""
    answer = None
    if "quote" in tools:
        answer = yield from _figures(question)(question)
    if answer is None and "search" in tools:
        answer = yield from read_pages(question)
    return answer


def _figures(question: ReadQuestion) -> Callable[[ReadQuestion], Plan]:
    """The plan with the financial tools that fits a question, by its words."""
    text = question.text
    if holds(text, *_FX):
        return exchange_rate
    if question.tenors and holds(text, "Treasury"):
        return yields
    if holds(text, "federal funds", "Fed's", "FOMC"):
        return policy_rate
    if holds(text, *_REPORTS):
        return statement
    return instrument if question.symbols else statistic


def steps_of(request: CompletionRequest) -> tuple[ReadQuestion, list[str]] | None:
    """The question of a request, and what tools answered since it was put; None for another conversation."""
    latest = question_in([m.content if m.role in {"user", "system"} else "" for m in request.messages])
    if latest is None:
        return None
    question, place = latest
    observed = [
        message.content
        for message in request.messages[place + 1 :]
        if message.role == "tool"
        or (message.role == "user" and message.content.startswith(("Observation:", "<observation>")))
    ]
    return question, observed
