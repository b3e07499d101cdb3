"""What some models do not take in a request, learnt from what their endpoints refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from openfingym.models.refusals import Refusal, field_wanted, takes_no, takes_no_late_system
from openfingym.models.wire import Json, as_list, as_object


def _with_new_name_of_max_tokens(body: Json) -> Json:
    return {"max_completion_tokens" if key == "max_tokens" else key: value for key, value in body.items()}


def _with_system_in_user(body: Json, first: int = 0) -> Json:
    """The request with its system messages in the user's messages beside them.

    Args:
        body: the request.
        first: number of the first message that may be moved.
    """
    joined: list[Json] = []
    was_system = False
    for number, message in enumerate(as_list(body["messages"])):
        part = dict(as_object(message, "a message"))
        is_system = part["role"] == "system" and number >= first
        if is_system:
            part["role"] = "user"
        if joined and (is_system or was_system) and part["role"] == joined[-1]["role"] == "user":
            joined[-1]["content"] = f"{joined[-1]['content']}\n\n{part['content']}"
        else:
            joined.append(part)
        was_system = is_system
    return body | {"messages": joined}


def _without(parameter: str) -> Callable[[Json], Json]:
    return lambda body: {key: value for key, value in body.items() if key != parameter}


def _changed(body: Json, change: Callable[[Json], Json]) -> Json:
    """The request with each of its messages changed."""
    return body | {"messages": [change(dict(as_object(message, "a message"))) for message in as_list(body["messages"])]}


def _without_field(field: str) -> Callable[[Json], Json]:
    def change(part: Json) -> Json:
        kept = {name: value for name, value in part.items() if name != field}
        if isinstance(calls := kept.get("tool_calls"), list):
            kept["tool_calls"] = [{name: call[name] for name in call if name != field} for call in calls]
        return kept

    return lambda body: _changed(body, change)


def _with_field(field: str) -> Callable[[Json], Json]:
    """The request with a field, empty, in each answer of the model that came without it."""
    return lambda body: _changed(body, lambda part: {field: ""} | part if part["role"] == "assistant" else part)


LATE_SYSTEM = "system message in the midst of a conversation"
ADAPTATIONS: Mapping[str, Callable[[Json], Json]] = {
    "max_tokens": _with_new_name_of_max_tokens,
    "seed": _without("seed"),
    "system": _with_system_in_user,
    LATE_SYSTEM: partial(_with_system_in_user, first=1),
    "stream_options": _without("stream_options"),
    "return_token_ids": _without("return_token_ids"),
    "logprobs": _without("logprobs"),
}
"""What some models do not take, by the word that their refusal has for it, and how a request does without it."""
_SENT = frozenset({"role", "content", "tool_calls", "tool_call_id", "id", "type", "function"})
"""Fields of messages and calls that every request has."""
REQUIRED = "+"
"""What the name of a field begins with that an endpoint wants in every answer of its model."""


def adaptation(word: str) -> Callable[[Json], Json]:
    """How a request does without something, or with a field more.

    Args:
        word: a word of :data:`ADAPTATIONS`, a field of a message or call, or a field that is :data:`REQUIRED`.
    """
    if word.startswith(REQUIRED):
        return _with_field(word.removeprefix(REQUIRED))
    return ADAPTATIONS.get(word) or _without_field(word)


def sent_back(body: Json) -> Iterator[str]:
    """Names of the fields in a request's messages and calls that came with answers of the model."""
    names: dict[str, None] = {}
    for message in as_list(body["messages"]):
        part = as_object(message, "a message")
        names |= dict.fromkeys(part)
        names |= dict.fromkeys(name for call in as_list(part.get("tool_calls")) for name in as_object(call, "a call"))
    return (name for name in names if name not in _SENT)


class Adaptations:
    """What the models of one endpoint were found not to take, so that only the first request of a run is sent twice."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()
        """Pairs of a model and a word of :func:`adaptation`."""

    def of(self, model: str) -> frozenset[str]:
        """What a model was found not to take: words of :func:`adaptation`."""
        return frozenset(word for name, word in self._known if name == model)

    def adapted(self, body: Json) -> Json:
        """A request without what its model was found not to take."""
        known = self.of(str(body["model"]))
        for word in (*(word for word in ADAPTATIONS if word in known), *sorted(known - ADAPTATIONS.keys())):
            body = adaptation(word)(body)
        return body

    def learn(self, refusal: Refusal, body: Json) -> str | None:
        """Learn from a refusal how the same can be asked for in another form.

        Args:
            refusal: what the endpoint said.
            body: the request that it refused.

        Returns:
            What was learnt, as a clause about the model; None where no other form helps.
        """
        wanted = field_wanted(refusal)
        words = [word for word in (*ADAPTATIONS, *sent_back(body)) if takes_no(refusal, word)]
        words += [LATE_SYSTEM] if takes_no_late_system(refusal) else []
        for word in (*words, *([REQUIRED + wanted] if wanted else [])):
            if adaptation(word)(body) != body:
                self._known.add((str(body["model"]), word))
                return f"takes no {word}" if word in words else f"wants {wanted} in every answer"
        return None
