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
from openfingym.models import Completion, Message
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.refusals import TABLE as TABLE_OF_MEANINGS
from openfingym.models.refusals import Refusal, field_wanted, refusal_in, takes_no, takes_no_late_system, takes_no_tools
from openfingym.models.retrying import Transient, judge, stated_wait_s
from openfingym.models.wire import BlockedAnswer, Json, MalformedAnswer, read_answer

from .scripted import Scripted, completion

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


@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 409, 425, 429])
@pytest.mark.parametrize("body", [body for _, body in TABLE["context"].values()], ids=[*TABLE["context"]])
def test_no_words_about_a_context_are_held_against_the_agent_under_another_status(status: int, body: object) -> None:
    assert Refusal(status, body).kind not in {"context", "filter"}


WORDS: dict[str, list[str]] = {
    "billing": [
        "Insufficient account balance",
        "insufficient credits",
        "insufficient funds",
        "insufficient quota",
        "insufficient balance",
        "not enough credit",
        "this requires more credits",
        "your credit balance is too low",
        "You are out of credits",
        "no credits left",
        "Credit limit exceeded",
        "credit limit reached",
        "You reached your spending limit",
        "reached the spending limit",
        "monthly spending limit",
        "Payment required",
        "payment is required",
        "account suspended",
        "the account is suspended",
        "your account has been suspended",
        "your account was suspended",
        "make sure your account is in good standing",
        "Your account is not active",
        "余额不足",
        "您的账户已欠费",
        "额度不足",
        "额度已用尽",
        "余额已用完",
        "账户被停用",
        "You exceeded your quota",
        "reached your usage limit",
        "You exceeded your current quota",
        "exceeded your monthly limit",
        "check your plan and billing",
    ],
    "wait": [
        "Too many requests",
        "rate limit",
        "You are being rate_limited",
        "rate-limiting",
        "Too many tokens, please wait",
        "100 tokens per second",
        "3 requests per min",
        "tokens per minute",
        "tokens per hour",
        "requests per day",
        "Throttled",
        "please wait before you ask",
        "try again in 5",
        "retry after 5",
        "wait for 5",
        "wait 5",
        "overloaded",
        "Server is busy",
        "temporarily unavailable",
        "at capacity",
        "over capacity",
        "out of capacity",
        "concurrency limit",
        "No models provided",
        "请求过于频繁",
        "请求频率",
        "已限流",
        "速率限制",
        "并发数",
        "负载过高",
        "请稍后再试",
        "请稍候重试",
    ],
    "filter": [
        "Input may contain sensitive content",
        "may contain inappropriate content",
        "DataInspectionFailed",
        "flagged for potential harm",
        "flagged as possible",
        "Your prompt was flagged",
        "the input has been flagged",
        "content was flagged",
        "this message was flagged",
        "the request was flagged",
        "content management policy",
        "content filter policy",
        "content filtered policy",
        "Responsible AI",
        "the safety system",
        "blocked by our content rules",
        "filtered due to safety",
        "rejected by the guardrail",
        "stopped by moderation",
        "violates our content policy",
        "violation of the provider's usage policies",
        "violating safety guidelines",
        "violates acceptable use policy",
        "content policy violation",
        "content_policy_violation",
        "guardrail intervened",
        "it was considered high risk",
        "guardrail_intervened",
        "sensitive words",
        "output new_sensitive (1027)",
        "敏感",
        "不安全的内容",
        "违规内容",
        "违反了相关政策",
        "违反规定",
        "违反使用规范",
    ],
    "context": [
        "inputs tokens + max_new_tokens must be small",
        "input length and max_tokens exceed it",
        "The sum of prompt length (9000.0) is too much",
        "context_length_exceeded",
        "ContextWindowExceeded",
        "context length exceeded",
        "context window was exceeded",
        "context size is exceeded",
        "context limit has been exceeded",
        "maximum context length is 10 tokens; however",
        "maximum context length is small, but yours is not",
        "maximum context length: fewer were requested",
        "maximum context length: it resulted in more",
        "maximum context length, which you exceed",
        "maximum context length; reduce it",
        "maximum context length; yours is longer",
        "maximum context length (8192",
        "exceeds the model's context limit",
        "exceeds available context size",
        "exceeded max context window",
        "exceeds the allowed input length",
        "exceeded the model token limit",
        "exceeds max_seq_len 2048",
        "exceeds maximum prompt length",
        "input token count of 5 exceeds 4",
        "Input tokens exceed the configured limit",
        "prompt is too long",
        "prompt tokens too long",
        "reduce the length of the prompt",
        "reduce the length of the input",
        "available context size",
        "longer than the context length",
        "greater than the maximum model length",
        "Trying to keep the first 5 tokens when context the overflows",
        "The model is loaded with context length of only 5",
        "input is too long for the model",
        "inputs must have less than 5 tokens",
        "超过最大长度",
        "超出上下文",
        "超过了模型的token",
        "超出长度限制",
        "输入超长",
        "上下文过长",
        "prompt 过长",
        "This model's context window is 8,192 tokens; your messages and tools have 9,000.",
        "context size 8192 tokens, found 8193",
        "context length is 100 tokens. you requested 40 output tokens",
        "max_tokens too large: 50. maximum context length is 100 and your request has 90 input tokens",
        "context length is 100 tokens. you requested 120 tokens (80 in your prompt; 40 for the completion)",
        "context length is 100 tokens. you requested 120 tokens (80 of text input, 0 of tools, 40 in the output)",
        "context limit: 100 + 100 > 200",
        "context limit: 100 + 60 > 100",
        "This context limit is 8192 tokens, and you sent 9000",
    ],
    "settings": [
        "max_tokens too large",
        "maxTokens too high",
        "max_completion_tokens too big",
        "max_output_tokens must be less than 5",
        "max_new_tokens must be at most 5",
        "maxOutputTokens must be between 1 and 5",
        "max_tokens must be < 5",
        "max_tokens should be [1, 5]",
        "max_tokens should be less",
        "max_tokens should be at most",
        "max_tokens should be between 1 and 5",
        "max_tokens is not in the supported range",
        "max_tokens is at most 5",
        "max_tokens exceeds the maximum",
        "max_tokens exceed the limit",
        "max tokens must be less than 5",
        "max_tokens: 6 > 5",
        "Range of max_new_tokens",
        "context length is 100 tokens. you requested 51 output tokens",
        "context limit: 1 + 51 > 50",
        "context limit: 300 + 200 > 200",
        "context length is 100 tokens. you requested 120 tokens (8 of text input, 0 of tools, 92 in the output)",
        "context length of 100 tokens. You asked for 8 tokens from the input and 93 tokens for the completion",
        "must be <= 100. Given: 60 `inputs` tokens and 51 `max_new_tokens`",
        "per min: Limit 5, Requested 6",
        "on RPM: limit: 5, you requested: 6",
    ],
    "call": ["Failed to call a function", "semantic errors or model hallucinations"],
    "access": ["API key not valid", "Incorrect API key", "invalid_api_key", "Invalid api-key", "无效的令牌"],
    "unknown": [
        "per min: Limit 6, Requested 6 of them",
        "limit: 5, requested: 6",
        "context size 8192 tokens, found 8192",
        "the context of tokens",
        "my max_tokens. must be less",
        "no rates limited here",
        "flagged",
        "the policy",
        "超",
    ],
}
"""Words of refusals by what they mean, each with a part of the table that no other one has."""
CODES: dict[str, str] = {rule.kind: "" for rule in TABLE_OF_MEANINGS}
CODES |= {
    "billing": "insufficient_quota billing_hard_limit_reached billing_not_active insufficient_balance "
    "payment_required insufficient_funds insufficient_credits insufficient_user_quota pre_consume_token_quota_failed "
    "Arrearage 1008 1113 exceeded_current_quota_error",
    "wait": "rate_limit_exceeded rate_limit_error rate_limit_reached_error rate_limited too_many_requests slow_down "
    "Throttling ThrottlingException Throttling.RateQuota Throttling.AllocationQuota Throttling.User limit_requests "
    "limit_burst_rate RESOURCE_EXHAUSTED overloaded_error overloaded engine_overloaded_error engine_overloaded "
    "server_overloaded capacity_exceeded ModelNotReadyException provider_unavailable ServiceUnavailableException 1002 "
    "1302 1303 1305",
    "filter": "content_filter content_filtered content_policy_violation data_inspection_failed DataInspectionFailed "
    "ResponsibleAIPolicyViolation sensitive_words_detected PROHIBITED_CONTENT input_flagged 1026 1027 1301",
    "context": "context_length_exceeded context_window_exceeded exceed_context_size_error ContextWindowExceededError "
    "model_context_window_exceeded 1261",
    "call": "tool_use_failed",
    "access": "invalid_api_key API_KEY_INVALID authentication_error UNAUTHENTICATED 1004",
}


@pytest.mark.parametrize(("kind", "words"), [(kind, words) for kind, all_of in WORDS.items() for words in all_of])
def test_every_word_of_the_table(kind: str, words: str) -> None:
    assert Refusal(400, {"error": {"message": words}}).kind == kind
    assert Refusal(200, {"error": words}).kind == kind


@pytest.mark.parametrize("field", ["code", "type", "status", "error_type", "error_code", "__type"])
@pytest.mark.parametrize(("kind", "codes"), CODES.items())
def test_every_code_of_the_table(field: str, kind: str, codes: str) -> None:
    for code in codes.split():
        stated: object = int(code) if code.isdigit() and field == "code" else code
        assert Refusal(400, {"error": {"message": "Sorry.", field: stated}}).kind == kind, code
    # All of the table stands here, so that none is there for no reason.
    assert {code.lower() for code in codes.split()} == {
        code for rule in TABLE_OF_MEANINGS if rule.kind == kind for code in rule.codes
    }


def test_what_is_read_of_a_body() -> None:
    """Words of gateways and of their providers, and no part of the request that they repeat."""
    nested = {"error": {"message": "A", "metadata": {"raw": '{"error": {"message": "B", "code": 429}}'}, "code": 502}}
    found = Refusal(200, nested)
    assert (found.message, found.meant_status, found.kind) == ("A | B", 429, "wait")
    assert found.said == "status 200, with error 429 in it: A | B"
    assert Refusal(400, {"error": {"message": "A", "code": 400}}).said == "status 400: A"
    assert Refusal(400, {"message": "A", "error": "A"}).message == "A"
    assert Refusal(400, {"code": "x", "input": "B"}).message == "x"
    assert len(Refusal(400, "x" * 9000).message) == 1000
    assert Refusal(400, {"detail": [{"loc": ["body", "seed"], "msg": "No."}]}).text == "body.seed no."
    assert Refusal(400, {"error": {"message": "See https://x.io/overloaded now"}}).text == "see  now"
    assert Refusal(400, {"error": {"code": True, "message": "A"}}).codes == ()
    assert (
        Refusal(200, {"error": {"code": 399}}).meant_status
        is Refusal(200, {"error": {"code": 4000}}).meant_status
        is None
    )
    assert Refusal(429, {"error": {"code": 400}}).meant_status == 429
    assert Refusal(500, {"error": {"code": 400}}).meant_status == 400


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "access"), (402, "billing"), (403, "access"), (404, "model"), (400, "unknown"), (418, "unknown")]
    + [(status, "wait") for status in (408, 409, 424, 425, 429, 498, 500, 503, 529)]
    + [(413, "unknown"), (422, "unknown"), (499, "unknown")],
)
def test_what_a_status_alone_means(status: int, kind: str) -> None:
    assert Refusal(status, {"error": {"message": "Sorry."}}).kind == kind
    assert Refusal(200, {"error": {"message": "Sorry.", "code": status}}).kind == kind


@pytest.mark.parametrize(
    ("status", "body", "word", "taken"),
    [
        (400, {"error": {"message": "Unsupported parameter: 'seed'"}}, "seed", False),
        (422, {"detail": [{"loc": ["body", "seed"], "type": "extra_forbidden", "msg": "No."}]}, "seed", False),
        (400, {"error": {"message": "Wrong.", "param": "seed"}}, "seed", False),
        (400, {"error": {"message": "Unsupported parameter: 'seeds'"}}, "seed", True),
        (400, {"error": {"message": "Unsupported parameter: 'top'"}}, "seed", True),
        (400, {"error": {"message": "I have a seed"}}, "seed", True),
        (500, {"error": {"message": "Unsupported parameter: 'seed'"}}, "seed", True),
        (200, {"error": {"message": "Unsupported parameter: 'seed'", "code": 400}}, "seed", False),
        (400, {"error": {"message": "max_tokens is too large", "param": "max_tokens"}}, "max_tokens", True),
        (400, {"error": {"message": f"{OPENAI} Not supported.", "param": "messages"}}, "messages", True),
        (400, {"error": {"message": "Content Exists Risk", "param": "messages"}}, "messages", True),
    ],
)
def test_what_a_model_does_not_take(status: int, body: Json, word: str, taken: bool) -> None:
    assert takes_no(Refusal(status, body), word) != taken


@pytest.mark.parametrize(("status", "text", "late"), [
    (400, "Chat template error: System message must be at the beginning.", True),
    (500, "System message must be at the beginning.", True),
    (400, "Unexpected role 'system' after role 'tool'", True),
    (429, "System message must be at the beginning.", False),
    (400, "The system message must be short.", False),
])  # fmt: skip
def test_a_system_message_that_is_not_the_first(status: int, text: str, late: bool) -> None:
    assert takes_no_late_system(Refusal(status, {"error": {"message": text}})) is late


def test_what_endpoints_want_or_do_not_have() -> None:
    wanted = {"error": {"message": "The `thinking` in the mode must be passed back"}}
    assert field_wanted(Refusal(400, wanted)) == "thinking"
    assert field_wanted(Refusal(500, wanted)) is None
    assert field_wanted(Refusal(400, {"error": {"message": "The `thinking` is odd"}})) is None
    streamed = Refusal(400, {"error": {"message": "Only streaming is there"}})
    assert "--stream" in str(judge(streamed))
    assert "--stream" not in str(judge(streamed, streamed=True))
    assert "--stream" not in str(judge(Refusal(400, {"error": {"message": "mainstream"}})))
    toolless = Refusal(400, {"error": {"message": "tools are not supported"}})
    assert judge(toolless, tools=True).reason == "no-tools"  # type: ignore[union-attr]
    assert judge(toolless).reason == "bad-request"  # type: ignore[union-attr]
    for status in (400, 404, 422, 500, 501):
        assert takes_no_tools(Refusal(status, {"error": {"message": "tools are not supported"}}))
    for status, words in (
        (429, "tools are not supported"),
        (503, "tools are not supported"),
        (400, "tools! not supported. Insufficient balance"),
    ):
        assert not takes_no_tools(Refusal(status, {"error": {"message": words}}))


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


@pytest.mark.parametrize(("kind", "status", "body"), ROWS, ids=NAMES)
def test_what_each_meaning_leads_to(kind: str, status: int, body: object) -> None:
    found = judge(Refusal(status, body), {})
    assert getattr(found, "reason", None) == HELD.get(kind)
    assert isinstance(found, Transient) == (kind == "wait")
    assert f"status {status}" in str(found)


def test_a_call_that_a_server_cannot_read_is_the_models() -> None:
    found = judge(Refusal(400, {"error": {"message": "Sorry.", "code": "tool_use_failed"}}))
    assert (found.reason, str(found)) == (  # type: ignore[union-attr]
        "bad-call",
        "the endpoint could not read the model's call (status 400: Sorry.)",
    )


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
        ({"error": "something odd"}, Transient, "something odd"),
        ({"error": {"message": "something odd"}}, Transient, "something odd"),
        ({"error": {"message": "something odd", "code": 400}}, ModelRefusedError, "something odd"),
        # MiniMax, z.ai and FastAPI have no field for an error.
        (
            {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
            ModelUnavailableError,
            "no credit",
        ),
        ({"code": 1261, "msg": "Prompt exceeds max length", "success": False}, ModelRefusedError, "too long"),
        ({"detail": "Content Exists Risk"}, ModelRefusedError, "Content Exists Risk"),
        ({"choices": [], "error": {"code": 429, "metadata": {"error_type": "x"}}}, Transient, "error 429"),
        (
            completion({"content": "Half"}, "error", error={"code": 502, "message": "Provider disconnected"}),
            Transient,
            "Provider disconnected",
        ),
        (
            {"error": {"code": 502, "message": "This content was flagged for possible cybersecurity risk"}},
            ModelRefusedError,
            "content filter",
        ),
    ],
)
def test_other_forms_of_errors_inside_answers(document: Json, error: type[Exception], words: str) -> None:
    refusal = refusal_in(document)
    assert refusal is not None
    found = judge(refusal)
    assert isinstance(found, error)
    assert words in str(found)


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


def test_where_an_error_may_stand() -> None:
    for document in ({"detail": "A"}, {"msg": "A"}, {"message": "A"}, {"base_resp": {"status_msg": "A"}}):
        assert refusal_in(document) == Refusal(200, document)
        assert refusal_in(document | {"choices": [{"message": {}}]}) is None
    for document in ({"message": {"content": "A"}}, {"detail": ""}, {"choices": {"error": "A"}}, {"choices": "A"}, {}):
        assert refusal_in(document) is None
    key = "sk-secret"
    for document in ({"error": f"Not {key}"}, {"detail": f"Not {key}"}):
        refusal = refusal_in(document, secret=key)
        assert refusal is not None
        assert refusal.message == "Not ***"
        assert key not in repr(refusal)
    # What is meant does not depend on the key, which may be a letter.
    assert Refusal(400, {"error": {"message": "Content Exists Risk"}}, secret="s").kind == "filter"
    assert [Refusal(200, {"error": "A"}), Refusal(200, {"error": "B"})] == [
        refusal_in({"error": "A"}),
        refusal_in({"choices": [{"error": "B"}]}),
    ]
    listed = {"error": {"metadata": {"raw": '[{"error": {"message": "A", "reason": "B", "status_msg": "C"}}]'}}}
    assert Refusal(400, listed).message == "A | C | B"


@pytest.mark.parametrize(
    "words",
    [
        "tools are not allowed",
        "tool_calls: unknown field",
        "tool_choice is not permitted",
        "function_call: extra inputs",
        "Unknown parameter: tools",
        "tools is unrecognized",
        "tool use isn't available",
        "unknown name 'tools'",
    ],
)
def test_more_words_for_no_tools(words: str) -> None:
    assert takes_no_tools(Refusal(200, {"error": words}))


def test_any_document_is_a_refusal_of_some_kind() -> None:
    deep: object = "prompt is too long"
    for _ in range(500):
        deep = {"error": [deep]}
    errors: object = "prompt is too long"
    for _ in range(5000):
        errors = {"error": errors}
    for body in (None, 5, True, "x", [], {}, [[]], {"error": None}, {"error": 7}, {"message": {"a": 1}}, deep, errors):
        assert Refusal(400, body).kind in {"unknown", "context"}
        assert isinstance(Refusal(400, body).said, str)


def test_the_words_of_three_gateways_one_behind_another_are_read() -> None:
    body: object = {"message": "prompt is too long"}
    for _ in range(3):
        body = {"error": json.dumps(body)}
    assert Refusal(400, body).kind == "context"
    assert Refusal(400, {"error": json.dumps(body)}).kind == "unknown"
