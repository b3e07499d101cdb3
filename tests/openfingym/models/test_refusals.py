"""What providers say when they refuse, as they really word it, and what follows: one row each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import ModelRefusedError, ModelUnavailableError
from openfingym.models import Completion, Message, ModelEndpoint
from openfingym.models.refusals import Refusal, refusal_in
from openfingym.models.retrying import Transient, judge, stated_wait_s
from openfingym.models.wire import BlockedAnswer, Json, MalformedAnswer, read_answer

from .scripted import Scripted, completion

PATIENCE_S = 1.0
"""Patience with what is asked again, long enough for an attempt on a busy machine."""
OPENAI = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
TABLE: dict[str, dict[str, tuple[int, Any]]] = json.loads(
    Path(__file__).with_name("refusals.json").read_text(encoding="utf-8")
)
"""Status and body of what providers send, by what it means and by who sends it."""
ROWS = [(kind, status, body) for kind, rows in TABLE.items() for status, body in rows.values()]
NAMES = [f"{kind}: {name}" for kind, rows in TABLE.items() for name in rows]
HELD = {"context": "context-too-long", "filter": "content-filter", "settings": "settings", "unknown": "bad-request"}
"""Reasons of requests that are refused for good."""


@pytest.mark.parametrize(("kind", "status", "body"), ROWS, ids=NAMES)
def test_every_provider_means_the_same(kind: str, status: int, body: object) -> None:
    assert Refusal(status, body).kind == kind


@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 429])
@pytest.mark.parametrize("body", [body for _, body in TABLE["context"].values()], ids=[*TABLE["context"]])
def test_no_words_about_a_context_are_held_against_the_agent_under_another_status(status: int, body: object) -> None:
    assert Refusal(status, body).kind not in {"context", "filter"}


@contextmanager
def refusing(status: int, body: object, after: int = 0) -> Iterator[Scripted]:
    """An endpoint that refuses everything after so many answers."""
    answer = completion({"content": "Hello."})
    with Scripted(lambda _, number: answer if number < after else (status, body)) as endpoint:
        yield endpoint


def asked(url: str, *, stream: bool = False, patience_s: float = 60.0, key: str = "no-key") -> Completion:
    async def ask() -> Completion:
        async with ModelEndpoint(url, key, timeout_s=20.0, patience_s=patience_s, loopback=True) as endpoint:
            return await endpoint.model("m", stream=stream).complete([Message("user", "Hello?")], max_tokens=16384)

    return asyncio.run(ask())


DECIDED = [row for row in zip(ROWS, NAMES, strict=True) if row[0][0] != "wait"]
"""What is answered at once, and not asked again until the patience is over."""


@pytest.mark.parametrize(("row"), [row for row, _ in DECIDED], ids=[name for _, name in DECIDED])
def test_what_follows_over_the_wire(row: tuple[str, int, object]) -> None:
    kind, status, body = row
    with refusing(status, body) as endpoint, pytest.raises((ModelRefusedError, ModelUnavailableError)) as caught:
        asked(endpoint.base_url)
    assert getattr(caught.value, "reason", None) == HELD.get(kind)
    assert len(endpoint.refused) == 1
    said = Refusal(status, body).message
    assert said[:200] in str(caught.value), "the provider's own words reach the user"
    if kind == "settings":
        assert "--reply-tokens" in str(caught.value)


@pytest.mark.parametrize(("status", "body"), TABLE["wait"].values(), ids=TABLE["wait"])
def test_what_is_asked_again(status: int, body: object) -> None:
    found = judge(Refusal(status, body), {})
    assert isinstance(found, Transient)
    assert Refusal(status, body).message in str(found)


def test_a_wait_is_as_long_as_headers_or_words_say() -> None:
    said = Refusal(*TABLE["wait"]["openai"])
    assert judge(said, {"retry-after": "7"}).retry_after_s == 7.0  # type: ignore[union-attr]
    assert judge(said, {}).retry_after_s == pytest.approx(4.77)  # type: ignore[union-attr]
    assert judge(Refusal(*TABLE["wait"]["kimi"]), {}).retry_after_s is None  # type: ignore[union-attr]


def _inside(status: int, body: object) -> Json | None:
    """The error object of a row, as a gateway puts it into an answer of status 200; None where the row has none."""
    error = body.get("error") if isinstance(body, dict) else None
    if not error:
        return None
    return {"code": status, **(error if isinstance(error, dict) else {"message": error})}


INSIDE = [(kind, inner) for kind, status, body in ROWS if (inner := _inside(status, body))]


@pytest.mark.parametrize(("kind", "error"), INSIDE)
def test_an_error_inside_an_answer_means_the_same(kind: str, error: Json) -> None:
    nothing = dict.fromkeys(("id", "choices", "created", "model", "object", "usage"))
    on_its_choice = completion({"content": ""}, "error", error=error)
    for document in ({"error": error}, {**nothing, "error": error}, {"choices": [], "error": error}, on_its_choice):
        refusal = refusal_in(document)
        assert refusal is not None
        assert refusal.kind == kind
        assert refusal.message in str(judge(refusal))
    for document in (completion({"content": "Hello."}), {"choices": [], "error": None}, {"error": {}}, [], None):
        assert refusal_in(document) is None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["context", "filter", "settings", "billing", "unknown"])
def test_an_error_inside_an_answer_ends_the_request(name: str, stream: bool) -> None:
    error = next(inner for kind, inner in INSIDE if kind == name and isinstance(inner["code"], int))
    chunks = [{"choices": [{"delta": {"content": "Half an"}}]}, {"choices": [], "error": error}]
    whole = {"choices": None, "error": error}
    raised = pytest.raises((ModelRefusedError, ModelUnavailableError))
    with Scripted(lambda *_: chunks if stream else whole) as endpoint, raised as caught:
        asked(endpoint.base_url, stream=stream)
    assert getattr(caught.value, "reason", None) == HELD.get(name)
    assert str(error["message"])[:200] in str(caught.value)


def test_an_error_that_passes_inside_a_stream_is_asked_again() -> None:
    broken = [{"choices": [{"delta": {"content": "Half an"}}]}, {"choices": [], "error": {"code": 429, "message": "x"}}]
    whole = [{"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}]
    with Scripted(lambda _, number: whole if number else broken) as endpoint:
        found = asked(endpoint.base_url, stream=True)
    assert (found.message.content, found.attempts) == ("Hello.", 2)


@pytest.mark.parametrize(
    ("document", "error", "words"),
    [
        # Nothing but words: unknown, so that it is asked again, and an infrastructure's error in the end.
        ({"error": "something odd"}, ModelUnavailableError, "something odd"),
        ({"error": {"message": "something odd"}}, ModelUnavailableError, "something odd"),
        ({"error": {"message": "something odd", "code": 400}}, ModelRefusedError, "something odd"),
        # MiniMax, z.ai and FastAPI have no field for an error.
        (
            {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
            ModelUnavailableError,
            "no credit",
        ),
        ({"code": 1261, "msg": "Prompt exceeds max length", "success": False}, ModelRefusedError, "too long"),
        ({"detail": "Content Exists Risk"}, ModelRefusedError, "Content Exists Risk"),
        ({"choices": [], "error": {"code": 429, "metadata": {"error_type": "x"}}}, ModelUnavailableError, "error 429"),
        (
            completion({"content": "Half"}, "error", error={"code": 502, "message": "Provider disconnected"}),
            ModelUnavailableError,
            "Provider disconnected",
        ),
        (
            {"error": {"code": 502, "message": "This content was flagged for possible cybersecurity risk"}},
            ModelRefusedError,
            "content filter",
        ),
    ],
)
def test_other_forms_of_errors_inside_answers(
    document: Json, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openfingym.models.retrying.LONGEST_WAIT_S", 0.01)
    with Scripted(lambda *_: document) as endpoint, pytest.raises(error) as caught:
        asked(endpoint.base_url, patience_s=PATIENCE_S)
    assert words in str(caught.value)


@pytest.mark.parametrize("usage", [{"prompt_tokens": 900, "completion_tokens": 0, "total_tokens": 900}])
def test_a_blocked_prompt_is_refused_once_it_is_blocked_twice(usage: Json) -> None:
    nothing: Json = {"id": "x", "model": "gemini", "choices": [], "usage": usage}
    with Scripted(lambda *_: nothing) as endpoint, pytest.raises(ModelRefusedError) as caught:
        asked(endpoint.base_url, patience_s=20.0)
    assert (caught.value.reason, len(endpoint.bodies)) == ("content-filter", 2)
    hello = {"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}
    with Scripted(lambda _, number: [hello] if number else [nothing]) as endpoint:
        assert asked(endpoint.base_url, stream=True).message.content == "Hello."


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 900}, {"prompt_tokens": 9, "completion_tokens": 5}])
def test_an_answer_without_choices_that_counts_nothing_is_no_refusal(usage: Json | None) -> None:
    with pytest.raises(MalformedAnswer, match="no choices") as caught:
        read_answer({"choices": [], "usage": usage})
    assert not isinstance(caught.value, BlockedAnswer)


def test_a_stream_that_comes_as_a_whole() -> None:
    """Errors often do, and the answers of servers that know no streams."""
    error: Json = {"error": {"message": OPENAI, "code": 400}}
    with Scripted(lambda *_: error) as endpoint, pytest.raises(ModelRefusedError, match="too long"):
        asked(endpoint.base_url, stream=True)
    with Scripted(lambda *_: completion({"content": "Hello."})) as endpoint:
        assert asked(endpoint.base_url, stream=True).message.content == "Hello."


def test_a_stream_that_says_it_is_none() -> None:
    chunks = [{"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}, {"choices": [], "usage": None}]
    with Scripted(lambda *_: chunks, stream_kind="application/json; charset=utf-8") as endpoint:
        assert asked(endpoint.base_url, stream=True).message.content == "Hello."


@pytest.mark.parametrize("chunk", [{"message": OPENAI, "code": 400, "object": "error"}, {"detail": OPENAI}])
def test_an_error_in_a_stream_without_a_field_for_it(chunk: Json) -> None:
    with Scripted(lambda *_: [chunk]) as endpoint, pytest.raises(ModelRefusedError, match="too long"):
        asked(endpoint.base_url, stream=True)


def test_a_refusal_without_a_body_after_answers_is_of_the_conversation() -> None:
    """Cerebras says nothing; only a conversation that was answered before can have grown too long."""
    assert Refusal(413, "", answered=True).kind == "context"
    assert Refusal(413, "").kind == Refusal(400, "", answered=True).kind == "unknown"
    assert Refusal(413, "<html>413</html>", answered=True).kind == "unknown"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("please try again in 4.77s.", 4.77),
        ("try again in 1m3.2s", 63.2),
        ("please retry in 250ms", 0.25),
        ("retry after 20 seconds", 20.0),
        ("try again in 2h3m", 7380.0),
        ("try again in 6m0s. visit", 360.0),
        ("please wait before trying again", None),
        ("try again with a shorter prompt of 5 messages", None),
        ("", None),
    ],
)
def test_a_wait_that_is_stated_in_words(text: str, seconds: float | None) -> None:
    found = stated_wait_s(text)
    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "error", [{"message": "Wrong key {key}", "code": 401}, {"message": "Xyzzy {key}", "code": 400}]
)
def test_the_key_is_in_no_words_from_within(error: Json) -> None:
    key = "sk-a-key-that-must-not-be-seen"
    said: Json = {"error": error | {"message": str(error["message"]).format(key=key)}}
    raised = pytest.raises((ModelUnavailableError, ModelRefusedError))
    with Scripted(lambda *_: said) as endpoint, raised as caught:
        asked(endpoint.base_url, key=key)
    assert "***" in str(caught.value)
    assert key not in str(caught.value)


def test_any_document_is_a_refusal_of_some_kind() -> None:
    deep: object = "prompt is too long"
    for _ in range(500):
        deep = {"error": [deep]}
    for body in (None, 5, True, "x", [], {}, [[]], {"error": None}, {"error": 7}, {"message": {"a": 1}}, deep):
        assert Refusal(400, body).kind in {"unknown", "context"}
        assert isinstance(Refusal(400, body).said, str)
