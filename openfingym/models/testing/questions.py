"""Answers of the stand-in to questions about events: what was seen of a pair of countries most often."""

from __future__ import annotations

import json
import re

from openfingym.models.testing.conversation import Call, CompletionRequest, Reply

ANSWER_TOOL = "answer"
LOOKUP = "get_relation_distribution"
MOST = 5
_PAIR = re.compile(r"head_entity=ISOCode\((\w{3})\).*?tail_entity=ISOCode\((\w{3})\)")
_CODE = re.compile(r"CAMEOCode\(code='(\d{3})'\)")


def answer_question(request: CompletionRequest) -> Reply:
    """Look up what happened between the two countries of the latest question, then name the most frequent of it."""
    asked = max(i for i, message in enumerate(request.messages) if message.role == "user")
    since = request.messages[asked:]
    pair = _PAIR.search(since[0].content)
    told = [message.content for message in since[1:] if message.role == "tool"]
    if pair is not None and LOOKUP in request.tools and not told:
        arguments = {"head_entities": [pair[1]], "tail_entities": [pair[2]]}
        return Reply("First what is known of the two.", (Call(LOOKUP, arguments),))
    codes = _CODE.findall(told[-1])[:MOST] if told else []
    answer = {root: [code for code in codes if code[:2] == root] for root in sorted({code[:2] for code in codes})}
    return Reply("The most frequent so far.", (Call(ANSWER_TOOL, {"answer": json.dumps(answer)}),))
