"""How the stand-in answers MIRAI's questions about events: with what was seen most often of two countries."""

from __future__ import annotations

import json
import re
from collections import Counter

from openfingym.models.messages import Message
from openfingym.models.testing.conversation import ANSWER_TOOL, Call, CompletionRequest, Reply, asks_in_words

LOOKUP = "get_relation_distribution"
ENTITIES = "get_entity_distribution"
NEWS = "get_news_articles"
MOST = 5
"""Most relations or countries that an answer names."""
USUAL = ("010", "040", "036", "042", "020")
"""Codes of relations that are frequent between any two countries."""
_ASKED = re.compile(
    r"head_entity=ISOCode\((\w{3})\), relation=CAMEOCode\((\d{3}|\?)\), tail_entity=ISOCode\((\w{3}|\?)\)"
)
_CODE = re.compile(r"CAMEOCode\(code='(\d{3})'\)")
_COUNTRY = re.compile(r"ISOCode\(code='([A-Z]{3})'\)")


def event_reply(request: CompletionRequest) -> Reply | None:
    """The next message about a question that is answered in words or by a call, whatever it asks; None for another
    conversation.
    """
    if asks_in_words(request):
        return answer_in_words(request)
    return answer_question(request) if request.form in {"tools", "text"} and ANSWER_TOOL in request.tools else None


def answer_question(request: CompletionRequest) -> Reply:
    """Look up what happened between the two countries of the latest question, or to whom one country did something;
    then answer with the most frequent of it.
    """
    since = _since_asked(request)
    results = [message.content for message in since[1:] if message.role == "tool"]
    tool, arguments = _lookup(since[0].content)
    if tool in request.tools and not results:
        return Reply("First what is known of the two.", (Call(tool, arguments),))
    answer = _answer(request, *(_seen(results[-1]) if results else ((), ())))
    return Reply("The most frequent so far.", (Call(ANSWER_TOOL, {"answer": answer}),))


def answer_in_words(request: CompletionRequest) -> Reply:
    """Look up and answer as :func:`answer_question` does, by the text of messages: a line with a call, a block of code,
    or tags; without tools, answer at once.
    """
    latest, prompt = request.messages[-1].content, request.text
    tags = "<function_call>" in prompt
    tool, arguments = _lookup(prompt)
    function = next((name for name in (tool, NEWS) if f"def {name}(" in prompt), None)
    if function is None or latest.startswith(("Observation:", "<observation>")):
        return _final(request, latest if function else prompt, tags=tags)
    written = ", ".join(f"{key}={_written(value)}" for key, value in arguments.items())
    call = f"{function}({written})" if function == tool else f'{NEWS}(text_description="What the two do to each other")'
    if tags:
        return Reply(f"<think>First what is known.\n<function_call>{call}</function_call>")
    if "print()" in prompt:
        return Reply(f"Thought: First what is known.\nAction: ```python\nfound = {call}\nprint(found)\n```")
    return Reply(f"Thought: First what is known.\nAction: {call}")


def _lookup(text: str) -> tuple[str, dict[str, object]]:
    """The tool that tells most about the question in a text, and its arguments; an empty name if there is none."""
    query = _ASKED.search(text)
    if query is None:
        return "", {}
    head, relation, tail = query.groups()
    if tail == "?":
        return ENTITIES, {"involved_relations": [relation], "interacted_entities": [head], "entity_role": "tail"}
    return LOOKUP, {"head_entities": [head], "tail_entities": [tail]}


def _written(value: object) -> str:
    """An argument as it is written with the classes of the API."""
    if not isinstance(value, list):
        return json.dumps(value)
    codes = [f"{'ISOCode' if code.isalpha() else 'CAMEOCode'}({json.dumps(code)})" for code in value]
    return f"[{', '.join(codes)}]"


def _final(request: CompletionRequest, shown: str, *, tags: bool) -> Reply:
    codes, countries = _seen(shown)
    answer = _answer(request, codes or USUAL, countries or ("USA", "CHN"))
    if tags:
        return Reply(f"The most frequent so far.</think>\n<answer>{answer}</answer>")
    thought, action = ("Thought: ", "Action: ") if '"Thought"' in request.text else ("", "")
    return Reply(f"{thought}The most frequent so far.\n{action}Final Answer: {answer}")


def _answer(request: CompletionRequest, codes: tuple[str, ...], countries: tuple[str, ...]) -> str:
    """The answer in the form that is asked for: countries, probabilities, a ranking, or relations by their roots."""
    queries = [*_ASKED.finditer(request.text)]
    if queries and queries[-1][3] == "?":
        return json.dumps(countries)
    if "values are the probabilities" in request.text:
        return json.dumps({code: round(0.9 - 0.1 * place, 2) for place, code in enumerate(codes)})
    if "ordered from the most likely" in request.text:
        return json.dumps(codes)
    return json.dumps({root: [code for code in codes if code[:2] == root] for root in sorted({c[:2] for c in codes})})


def _seen(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Codes of the relations and countries that a text shows most often, the most frequent first."""
    codes, countries = (Counter(form.findall(text)).most_common(MOST) for form in (_CODE, _COUNTRY))
    return tuple(code for code, _ in codes), tuple(code for code, _ in countries)


def _since_asked(request: CompletionRequest) -> tuple[Message, ...]:
    """The latest question, and the messages that follow it."""
    asked = max(i for i, message in enumerate(request.messages) if message.role == "user")
    return request.messages[asked:]
