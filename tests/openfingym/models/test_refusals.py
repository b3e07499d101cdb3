"""What providers say when they refuse, as they really word it, and what follows: one row each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from openfingym.errors import ModelRefusedError, ModelUnavailableError
from openfingym.models import Completion, Message, ModelEndpoint
from openfingym.models.refusals import Refusal
from openfingym.models.retrying import stated_wait_s
from openfingym.models.wire import Json

from .scripted import Scripted, completion

OPENAI = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
CONTEXT: dict[str, tuple[int, object]] = {
    "openai": (400, {"error": {"message": OPENAI, "code": "context_length_exceeded", "type": "invalid_request_error"}}),
    "openai without a code": (400, {"error": {"message": OPENAI}}),
    "openai, responses": (400, {"error": {"message": "Your input exceeds the context window of this model."}}),
    "openai, gpt-5": (
        400,
        {
            "error": {
                "message": "Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 9."
            }
        },
    ),
    "vllm": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 8192 tokens. However, you requested 2048 output tokens and "
            "your prompt contains at least 6145 input tokens, for a total of at least 8193 tokens.",
            "code": 400,
        },
    ),
    "vllm, older": (
        400,
        {
            "message": "This model's maximum context length is 8192 tokens. However, you requested 9048 tokens (7000 in "
            "the messages, 2048 in the completion). Please reduce the length of the messages or completion."
        },
    ),
    "vllm, engine": (
        400,
        {"message": "The decoder prompt (length 9000) is longer than the maximum model length of 8192."},
    ),
    "sglang": (
        400,
        {"message": "The input (9000 tokens) is longer than the model's context length (8192 tokens).", "code": 400},
    ),
    "sglang, with the reply": (
        400,
        {
            "message": "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a "
            "total of 9000 tokens: 7000 tokens from the input messages and 2000 tokens for the completion."
        },
    ),
    "anthropic": (
        400,
        {
            "error": {
                "type": "invalid_request_error",
                "message": "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000, decrease input "
                "length or `max_tokens` and try again",
            }
        },
    ),
    "anthropic, prompt": (
        400,
        {"type": "error", "error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}},
    ),
    "gemini, in a list": (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    "glm": (
        400,
        {
            "error": {
                "message": "Input length 8773 exceeds the maximum allowed input length of 6399 tokens",
                "code": "400",
            }
        },
    ),
    "z.ai": (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    "z.ai, code alone": (400, {"error": {"code": "1261", "message": "请求参数有误"}}),
    "xai, a text": (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
    ),
    "groq": (400, {"error": {"message": "Please reduce the length of the messages or completion."}}),
    "cerebras": (
        400,
        {
            "message": "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
            "code": "context_length_exceeded",
        },
    ),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 33056,
                "n_ctx": 32768,
            }
        },
    ),
    "llama.cpp, older": (
        500,
        {
            "error": {
                "code": 500,
                "message": "the request exceeds the available context size. try increasing the context size or enable "
                "context shift",
                "type": "server_error",
            }
        },
    ),
    "lm studio": (
        400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
    ),
    "ollama": (400, {"error": {"message": "prompt too long; exceeded max context length by 4 tokens"}}),
    "bedrock": (400, {"message": "Input is too long for requested model."}),
    "mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context "
            "length",
            "type": "invalid_request_error",
        },
    ),
    "kimi": (
        400,
        {"error": {"message": "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"}},
    ),
    "minimax": (400, {"error": {"message": "invalid params, context window exceeds limit (2013)"}}),
    "qwen": (
        400,
        {
            "error": {
                "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
                "code": "invalid_parameter_error",
            }
        },
    ),
    "tgi": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 7000 `inputs` "
            "tokens and 4096 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "together": (422, {"error": {"message": "`inputs` tokens + `max_new_tokens` must be <= 8193."}}),
    "copilot": (400, {"error": {"message": "prompt token count of 130000 exceeds the limit of 128000"}}),
    "fireworks": (
        400,
        {"error": {"message": "The prompt is too long: 9000, model maximum context length: 8191", "code": "x"}},
    ),
    "cohere": (
        400,
        {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."},
    ),
    "litellm": (
        400,
        {"error": {"message": "litellm.ContextWindowExceededError: " + OPENAI, "type": None, "code": "400"}},
    ),
    "deepseek": (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
                "(66000 in the messages, 4000 in the completion).",
                "code": "invalid_request_error",
            }
        },
    ),
    "a gateway, in chinese": (400, {"error": {"message": "输入内容超过模型最大长度限制"}}),
    "a gateway with its provider's words": (
        502,
        {
            "error": {
                "message": "Provider returned error",
                "code": 502,
                "metadata": {"raw": json.dumps({"error": {"message": OPENAI, "code": 400}}), "provider_name": "X"},
            }
        },
    ),
}
FILTER: dict[str, tuple[int, object]] = {
    "deepseek": (400, {"error": {"message": "Content Exists Risk", "code": "invalid_request_error"}}),
    "deepseek, detail": (400, {"detail": "Content Exists Risk"}),
    "openai": (
        400,
        {
            "error": {
                "message": "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try "
                "again with a different prompt.",
                "code": "invalid_prompt",
            }
        },
    ),
    "qwen": (
        400,
        {"error": {"message": "Output data may contain inappropriate content.", "code": "data_inspection_failed"}},
    ),
    "qwen through a relay": (
        500,
        {
            "error": {
                "message": "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate "
                "content.",
                "type": "upstream_error",
            }
        },
    ),
    "azure": (
        400,
        {
            "error": {
                "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management "
                "policy.",
                "code": "content_filter",
                "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
    ),
    "anthropic": (400, {"error": {"message": "Output blocked by content filtering policy"}}),
    "openrouter, moderation": (
        403,
        {
            "error": {
                "code": 403,
                "message": 'openai/o1 requires moderation on OpenAI. Your input was flagged for "violence".',
                "metadata": {"reasons": ["violence"], "flagged_input": "..."},
            }
        },
    ),
    "z.ai": (400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
    "minimax": (400, {"error": {"message": "input new_sensitive (1026)"}}),
    "kimi": (
        400,
        {
            "error": {
                "message": "The request was rejected because it was considered high risk",
                "type": "content_filter",
            }
        },
    ),
    "xai": (403, {"code": "forbidden", "error": "Content violates usage guidelines."}),
}
WAIT: dict[str, tuple[int, object]] = {
    "openai": (
        429,
        {
            "error": {
                "message": "Rate limit reached for gpt-4o. Please try again in 4.77s.",
                "code": "rate_limit_exceeded",
            }
        },
    ),
    "groq, used up": (
        413,
        {
            "error": {
                "message": "Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5900, Requested 522.",
                "code": "rate_limit_exceeded",
            }
        },
    ),
    "bedrock": (400, {"message": "Too many tokens, please wait before trying again.", "__type": "ThrottlingException"}),
    "gemini": (
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": "You exceeded your current quota, please check your plan and billing details. Quota "
                    "exceeded for metric: free_tier_requests, limit: 15. Please retry in 39.2s.",
                    "status": "RESOURCE_EXHAUSTED",
                }
            }
        ],
    ),
    "anthropic": (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "groq, capacity": (498, {"error": {"message": "flex tier capacity exceeded", "code": "capacity_exceeded"}}),
    "z.ai": (400, {"error": {"code": "1302", "message": "您当前使用该API的并发数过高，请降低并发"}}),
    "dashscope": (429, {"error": {"message": "Requests rate limit exceeded", "code": "limit_requests"}}),
    "kimi": (429, {"error": {"type": "engine_overloaded_error", "message": "The engine is currently overloaded"}}),
    "openrouter": (400, {"error": {"message": "No models provided", "code": 400}}),
    "a proxy": (502, "<html><body>Bad Gateway</body></html>"),
    "nothing at all": (503, ""),
    "tgi": (424, {"error": "Request failed during generation", "error_type": "generation"}),
}
SETTINGS: dict[str, tuple[int, object]] = {
    "groq, a minute": (
        413,
        {
            "error": {
                "message": "Request too large for model `llama-3.1-8b-instant` in organization `org_x` service tier "
                "`on_demand` on tokens per minute (TPM): Limit 6000, Requested 6522, please reduce your message size and "
                "try again.",
                "type": "tokens",
                "code": "rate_limit_exceeded",
            }
        },
    ),
    "openai, a minute": (
        429,
        {
            "error": {
                "message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30,000, Requested 40,123.",
                "code": "rate_limit_exceeded",
            }
        },
    ),
    "vllm": (
        400,
        {
            "object": "error",
            "message": "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length "
            "is 8192 tokens and your request has 900 input tokens (16384 > 8192 - 900).",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "vllm, most of it": (
        400,
        {
            "message": "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is "
            "8192 tokens and your request has 900 input tokens (8000 > 8192 - 900)."
        },
    ),
    "openai": (
        400,
        {
            "error": {
                "message": "max_tokens is too large: 20000. This model supports at most 16384 completion tokens.",
                "param": "max_tokens",
            }
        },
    ),
    "anthropic": (
        400,
        {
            "error": {
                "message": "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3"
            }
        },
    ),
    "deepseek": (
        400,
        {"error": {"message": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}},
    ),
    "qwen": (400, {"error": {"message": "Range of max_tokens should be [1, 8192]"}}),
    "groq": (
        400,
        {
            "error": {
                "message": "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less "
                "than the `context_window` for this model"
            }
        },
    ),
    "anthropic, the reply alone": (
        400,
        {"error": {"message": "input length and `max_tokens` exceed context limit: 900 + 200000 > 200000, decrease"}},
    ),
    "tgi, the reply alone": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 900 `inputs` "
            "tokens and 8192 `max_new_tokens`"
        },
    ),
}
BILLING: dict[str, tuple[int, object]] = {
    "openai": (
        429,
        {"error": {"message": "You exceeded your current quota, please check your plan", "code": "insufficient_quota"}},
    ),
    "deepseek": (402, {"error": {"message": "Insufficient Balance"}}),
    "openrouter": (
        402,
        {
            "error": {
                "message": "This request requires more credits, or fewer max_tokens. You requested up to 16384 tokens, but "
                "can only afford 900.",
                "code": 402,
            }
        },
    ),
    "anthropic": (400, {"error": {"message": "Your credit balance is too low to access the Anthropic API."}}),
    "z.ai": (429, {"error": {"code": "1113", "message": "余额不足或无可用资源包,请充值。"}}),
    "dashscope": (
        400,
        {"error": {"code": "Arrearage", "message": "Access denied, please make sure your account is ok"}},
    ),
    "kimi": (
        429,
        {"error": {"type": "exceeded_current_quota_error", "message": "Your account is suspended, check your plan"}},
    ),
    "fireworks": (412, {"error": "Account suspended, possibly due to reaching the monthly spending limit"}),
}
UNKNOWN: dict[str, tuple[int, object]] = {
    "words that nobody knows": (
        400,
        {"error": {"message": "Xyzzy: the frobnicator is miscalibrated", "code": "xyzzy"}},
    ),
    "another status": (418, {"error": {"message": "I'm a teapot"}}),
    "a parameter of that name": (400, {"error": {"message": "Unsupported parameter: 'context_length'."}}),
    "a sentence about contexts": (
        400,
        {"error": {"message": "Invalid temperature. (The maximum context length of this model is 8192 tokens.)"}},
    ),
    "a link": (
        400,
        {"error": {"message": "Invalid value. See https://x.io/docs/rate-limits and https://x.io/prompt-is-too-long"}},
    ),
    "a conversation that is repeated": (
        422,
        {
            "detail": [
                {
                    "type": "enum",
                    "loc": ["body", "messages", 3, "role"],
                    "msg": "Input should be 'user'",
                    "input": "prompt is too long: 9 tokens > 8 maximum. Content Exists Risk",
                }
            ]
        },
    ),
    "a conversation that is repeated in a text": (
        400,
        {
            "object": "error",
            "message": "[{'type': 'enum', 'loc': ('body', 'seed'), 'msg': 'Input should be 1', 'input': 'exceeds the "
            "available context size'}]",
        },
    ),
    "bytes": (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the 32 MB."}}),
    "a proxy's limit": (413, "<html><title>413 Request Entity Too Large</title></html>"),
    "a deadline": (400, {"error": {"message": "upstream: context deadline exceeded"}}),
    "gemini's signature": (
        400,
        [{"error": {"code": 400, "message": "Function call is missing a thought_signature in functionCall parts."}}],
    ),
    "no words": (400, ""),
    "a list of nothing": (400, []),
}
ACCESS: dict[str, tuple[int, object]] = {
    "gemini": (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]),
    "openai": (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}),
    "forbidden": (403, {"error": {"message": "Project does not have access to this"}}),
}
TABLE = {
    "context": CONTEXT,
    "filter": FILTER,
    "wait": WAIT,
    "settings": SETTINGS,
    "billing": BILLING,
    "unknown": UNKNOWN,
    "access": ACCESS,
}
ROWS = [(kind, status, body) for kind, rows in TABLE.items() for status, body in rows.values()]
NAMES = [f"{kind}: {name}" for kind, rows in TABLE.items() for name in rows]
HELD = {"context": "context-too-long", "filter": "content-filter", "settings": "settings", "unknown": "bad-request"}
"""Reasons of requests that are refused for good."""


@pytest.mark.parametrize(("kind", "status", "body"), ROWS, ids=NAMES)
def test_every_provider_means_the_same(kind: str, status: int, body: object) -> None:
    assert Refusal(status, body).kind == kind


@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 429])
@pytest.mark.parametrize("body", [body for _, body in CONTEXT.values()], ids=[*CONTEXT])
def test_no_words_about_a_context_are_held_against_the_agent_under_another_status(status: int, body: object) -> None:
    assert Refusal(status, body).kind not in {"context", "filter"}


@contextmanager
def refusing(status: int, body: object, after: int = 0) -> Iterator[Scripted]:
    """An endpoint that refuses everything after so many answers."""
    answer = completion({"content": "Hello."})
    with Scripted(lambda _, number: answer if number < after else (status, body)) as endpoint:
        yield endpoint


def asked(url: str, *, stream: bool = False, patience_s: float = 0.15, key: str = "no-key") -> Completion:
    async def ask() -> Completion:
        async with ModelEndpoint(url, key, timeout_s=20.0, patience_s=patience_s, loopback=True) as endpoint:
            return await endpoint.model("m", stream=stream).complete([Message("user", "Hello?")], max_tokens=16384)

    return asyncio.run(ask())


@pytest.mark.parametrize(("kind", "status", "body"), ROWS, ids=NAMES)
def test_what_follows_over_the_wire(kind: str, status: int, body: object) -> None:
    with refusing(status, body) as endpoint, pytest.raises((ModelRefusedError, ModelUnavailableError)) as caught:
        asked(endpoint.base_url)
    assert getattr(caught.value, "reason", None) == HELD.get(kind)
    said = Refusal(status, body).message
    assert said[:200] in str(caught.value), "the provider's own words reach the user"
    if kind == "settings":
        assert "--reply-tokens" in str(caught.value)


INSIDE = [(kind, status, body) for kind, status, body in ROWS if isinstance(body, dict) and body.get("error")]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("kind", "status", "body"), INSIDE)
def test_an_error_inside_an_answer_means_the_same(kind: str, status: int, body: Json, stream: bool) -> None:
    """With status 200, by a code inside, as the whole answer, beside empty fields, or as a chunk of a stream."""
    error = body["error"] if isinstance(body["error"], dict) else {"message": body["error"]}
    nothing = dict.fromkeys(("id", "choices", "created", "model", "object", "usage"))
    sent: Json = {**nothing, "error": {"code": status, **error}}
    meant = Refusal(200, {"error": sent["error"]}).kind
    assert meant == kind
    answers = [completion({"content": "Half an"}), sent] if stream else sent
    if stream:
        answers = [{"choices": [{"delta": {"content": "Half an"}}]}, {"choices": [], "error": sent["error"]}]
    with Scripted(lambda *_: answers) as endpoint, pytest.raises((ModelRefusedError, ModelUnavailableError)) as caught:
        asked(endpoint.base_url, stream=stream)
    assert getattr(caught.value, "reason", None) == HELD.get(kind)
    assert Refusal(status, body).message[:200] in str(caught.value)


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
            None,
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
def test_other_forms_of_errors_inside_answers(document: Json, error: type[Exception] | None, words: str) -> None:
    with Scripted(lambda *_: document) as endpoint, pytest.raises(error or ModelUnavailableError) as caught:
        asked(endpoint.base_url)
    assert words in str(caught.value)


@pytest.mark.parametrize("usage", [{"prompt_tokens": 900, "completion_tokens": 0, "total_tokens": 900}])
def test_a_blocked_prompt_is_refused_once_it_is_blocked_twice(usage: Json) -> None:
    nothing: Json = {"id": "x", "model": "gemini", "choices": [], "usage": usage}
    with Scripted(lambda *_: nothing) as endpoint, pytest.raises(ModelRefusedError) as caught:
        asked(endpoint.base_url, patience_s=20.0)
    assert (caught.value.reason, len(endpoint.bodies)) == ("content-filter", 2)
    for stream in (False, True):
        answers = [nothing, completion({"content": "Hello."})]
        whole = lambda _, number: answers[min(number, 1)]  # noqa: E731
        chunks = lambda _, number: (
            [nothing] if not number else [{"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}]
        )  # noqa: E501, E731
        with Scripted(chunks if stream else whole) as endpoint:
            assert asked(endpoint.base_url, stream=stream, patience_s=20.0).message.content == "Hello."


def test_an_answer_without_choices_that_counts_nothing_is_no_refusal() -> None:
    for usage in (None, {}, {"prompt_tokens": 900}, {"prompt_tokens": 900, "completion_tokens": 5}):
        with Scripted(lambda *_, usage=usage: {"choices": [], "usage": usage}) as endpoint:
            with pytest.raises(ModelUnavailableError, match="no choices"):
                asked(endpoint.base_url)


def test_a_stream_that_comes_as_a_whole() -> None:
    """Errors often do, and the answers of servers that know no streams."""
    with Scripted(lambda *_: {"error": {"message": OPENAI, "code": 400}}) as endpoint:
        with pytest.raises(ModelRefusedError, match="too long"):
            asked(endpoint.base_url, stream=True)
    with Scripted(lambda *_: completion({"content": "Hello."})) as endpoint:
        assert asked(endpoint.base_url, stream=True).message.content == "Hello."


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


def test_the_key_is_in_no_words_from_within() -> None:
    key = "sk-a-key-that-must-not-be-seen"
    for body in ({"error": {"message": f"Wrong key {key}", "code": 401}}, {"error": f"Xyzzy {key}"}):
        with Scripted(lambda *_, body=body: body) as endpoint, pytest.raises(ModelUnavailableError) as caught:
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
