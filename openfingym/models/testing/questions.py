"""Answers of the stand-in to questions about events: what was seen of a pair of countries most often."""

from __future__ import annotations

import json
import re
from collections import Counter

from openfingym.models.messages import Message
from openfingym.models.testing.conversation import BLOCKS_MARKER, Call, CompletionRequest, Reply

ANSWER_TOOL = "answer"
LOOKUP = "get_relation_distribution"
NEWS = "get_news_articles"
MOST = 5
USUAL = ("010", "040", "036", "042", "020")
"""Relations that are frequent anywhere."""
_PAIR = re.compile(r"head_entity=ISOCode\((\w{3})\).*?tail_entity=ISOCode\((\w{3}|\?)\)")
_CODE = re.compile(r"CAMEOCode\(code='(\d{3})'\)")


def answer_question(request: CompletionRequest) -> Reply:
    """Look up what happened between the two countries of the latest question, then name the most frequent of it."""
    since = _since_asked(request)
    pair = _PAIR.search(since[0].content)
    told = [message.content for message in since[1:] if message.role == "tool"]
    if pair is not None and LOOKUP in request.tools and not told:
        arguments = {"head_entities": [pair[1]], "tail_entities": [pair[2]]}
        return Reply("First what is known of the two.", (Call(LOOKUP, arguments),))
    codes = _seen(told[-1]) if told else ()
    return Reply("The most frequent so far.", (Call(ANSWER_TOOL, {"answer": _answer(request, codes)}),))


def asks_in_words(request: CompletionRequest) -> bool:
    """Whether it is a question that is answered in the text of a message."""
    return (
        not request.tools
        and BLOCKS_MARKER not in request.text
        and ("Final Answer:" in request.text or "<answer>" in request.text)
    )


def answer_in_words(request: CompletionRequest) -> Reply:
    """The same in the text of messages: a line with a call, a block of code, or tags; or at once, without tools."""
    asked, prompt = request.messages[-1].content, request.text
    tags = "<function_call>" in prompt
    if asked.startswith(("Observation:", "<observation>")):
        return _final(request, _seen(asked) or USUAL, tags=tags)
    pair = _PAIR.search(prompt)
    function = next((name for name in (LOOKUP, NEWS) if f"def {name}(" in prompt), None)
    if pair is None or function is None:
        return _final(request, _seen(prompt) or USUAL, tags=tags)
    tail = "" if pair[2] == "?" else f', tail_entities=[ISOCode("{pair[2]}")]'
    call = f'{function}(head_entities=[ISOCode("{pair[1]}")]{tail})'
    if tags:
        return Reply(f"<think>First what is known.\n<function_call>{call}</function_call>")
    if "print()" in prompt:
        return Reply(f"Thought: First what is known.\nAction: ```python\nfound = {call}\nprint(found)\n```")
    return Reply(f"Thought: First what is known.\nAction: {call}")


def _final(request: CompletionRequest, codes: tuple[str, ...], *, tags: bool) -> Reply:
    answer = _answer(request, codes)
    if tags:
        return Reply(f"The most frequent so far.</think>\n<answer>{answer}</answer>")
    acting = "Thought: " if '"Thought"' in request.text else ""
    label = "Action: " if acting else ""
    return Reply(f"{acting}The most frequent so far.\n{label}Final Answer: {answer}")


def _answer(request: CompletionRequest, codes: tuple[str, ...]) -> str:
    """In the form that is asked for."""
    if "ISO 3166-1 alpha-3 country codes. For example" in request.text:
        return json.dumps(["USA", "CHN"])
    if "values are the probabilities" in request.text:
        return json.dumps({code: round(0.9 - 0.1 * place, 2) for place, code in enumerate(codes)})
    if "ordered from the most likely" in request.text:
        return json.dumps(list(codes))
    return json.dumps({root: [code for code in codes if code[:2] == root] for root in sorted({c[:2] for c in codes})})


def _seen(text: str) -> tuple[str, ...]:
    """Relations that a text shows, the most frequent first, of equally frequent ones the first."""
    return tuple(code for code, _ in Counter(_CODE.findall(text)).most_common(MOST))


def _since_asked(request: CompletionRequest) -> tuple[Message, ...]:
    asked = max(i for i, message in enumerate(request.messages) if message.role == "user")
    return request.messages[asked:]
