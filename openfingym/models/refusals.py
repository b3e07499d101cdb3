"""What an endpoint means when it refuses: one table for the words of all providers.

A refusal is read from a status with a body, from an error inside an answer of status 200, or from one inside a stream;
the table is the same for all three. It is decided by meaning, in this order: numbers that the text compares, the
body's code, known words, the status. What nobody knows is ``unknown``; it is never taken for something that an agent
did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

RefusalKind = Literal["wait", "billing", "access", "model", "settings", "context", "filter", "call", "unknown"]
"""What a refusal means. ``wait``: of rate, load or outage, so that another attempt may succeed. ``billing``,
``access``, ``model``: the account has no credit, the key is not accepted, the model is not known. ``settings``: no
conversation fits, for a limit of the account or a setting of the run. ``context``: the conversation is longer than the
model takes. ``filter``: of its content. ``call``: the server cannot read the call that the model wrote. ``unknown``:
none of these, as far as anybody knows."""

LONGEST_MESSAGE = 1000
"""Most characters of an endpoint's message that are read and shown."""
MOST_NESTED = 8
"""Most levels of a body below which no words are looked for."""
_WORDS = (
    "message",
    "msg",
    "error",
    "detail",
    "errors",
    "error_message",
    "status_msg",
    "title",
    "description",
    "reason",
)
"""Fields that hold what an endpoint says. Others are not read: some repeat the request, and so the conversation."""
_WITHIN = ("metadata", "innererror", "base_resp", "error_info", "raw", "reasons", "provider_error", "last_error")
"""Fields of an error that hold another error, or more words."""
_CODES = ("code", "type", "status", "error_type", "error_code", "status_code", "__type")
_URL = re.compile(r"https?://\S+")
_REPEATED = re.compile(r"['\"]input['\"]\s*:.*", re.DOTALL)
"""A request that a validation error repeats within its text."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")


@dataclass(frozen=True)
class Refusal:
    """What an endpoint said when it refused a request."""

    status: int
    """Status of the answer."""
    document: object = field(repr=False)
    """The body, decoded where it is JSON, else its text."""
    answered: bool = False
    """Whether the refused conversation holds an answer of the model already."""
    secret: str = field(default="", repr=False)
    """The endpoint's key, which is taken out of its words before they are cut; empty for none."""

    @cached_property
    def _parts(self) -> tuple[tuple[str, object], ...]:
        return tuple(_parts(self.document))

    @property
    def message(self) -> str:
        """The endpoint's words, for people; empty where it said nothing."""
        words = [str(part).strip() for name, part in self._parts if name in _WORDS]
        # Gateways repeat what their provider said, beside words of their own.
        distinct = [word for number, word in enumerate(words) if word and word not in words[:number]]
        said = " | ".join(distinct) or "; ".join(self.codes)
        # Before it is cut, or a part of the key might stay.
        return (said.replace(self.secret, "***") if self.secret else said)[:LONGEST_MESSAGE]

    @property
    def said(self) -> str:
        """Status and words, as they are shown."""
        within = "" if self.meant_status in {None, self.status} else f", with error {self.meant_status} in it"
        return f"status {self.status}{within}: {self.message}"

    @cached_property
    def text(self) -> str:
        """The words and codes in lower case, without addresses and repeated requests, as they are compared."""
        words = " ".join(str(part) for _, part in self._parts if isinstance(part, str))
        plain = _REPEATED.sub("", _URL.sub("", words))[:LONGEST_MESSAGE].lower()
        return _THOUSANDS.sub("", plain)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that the body states, in lower case."""
        return tuple(str(part).strip().lower() for name, part in self._parts if name in _CODES and part != "error")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters of the request that the body names as the reason."""
        return tuple(str(part) for name, part in self._parts if name == "param")

    @cached_property
    def meant_status(self) -> int | None:
        """The status that is meant: of the innermost error that states one, or else the answer's; None where an answer
        of status 200 states none.
        """
        if self.status in _NOT_OF_THE_CONVERSATION:
            return self.status
        stated = [int(code) for code in self.codes if re.fullmatch(r"[45]\d\d", code)]
        return stated[-1] if stated else None if self.status < 400 else self.status

    @cached_property
    def kind(self) -> RefusalKind:
        """What the refusal means, whatever was in the request."""
        return _by_numbers(self) or _by_code(self) or _by_words(self) or _by_status(self)


@dataclass(frozen=True)
class _Rule:
    """One row of the table: a meaning, and the codes and words that have it."""

    kind: RefusalKind
    codes: frozenset[str]
    words: re.Pattern[str]
    not_with: frozenset[int] = frozenset()
    """Statuses under which the words mean something else."""


_NOT_OF_THE_CONVERSATION = frozenset({401, 402, 403, 404, 408, 409, 425, 429})
"""Statuses under which nothing is held against a conversation, whatever the words."""


def _rule(kind: RefusalKind, codes: str, *words: str, not_with: frozenset[int] = frozenset()) -> _Rule:
    return _Rule(kind, frozenset(codes.split()), re.compile("|".join(words)), not_with)


TABLE: tuple[_Rule, ...] = (
    _rule(
        "billing",
        "insufficient_quota billing_hard_limit_reached billing_not_active insufficient_balance insufficient_funds "
        "insufficient_credits insufficient_user_quota pre_consume_token_quota_failed exceeded_current_quota_error "
        "arrearage payment_required 1008 1113",
        r"insufficient (?:account )?(?:balance|credits?|funds|quota)",
        r"credit balance is too low|requires more credits|not enough credits?|out of credits?|no credits? left",
        r"credit limit (?:exceeded|reached)|(?:monthly |reached (?:your|the) )spending limit|payment (?:is )?required",
        r"account (?:is |has been |was )?suspended|account is in good standing|account is not active",
        r"余额不足|欠费|额度不足|额度已用尽|余额已用完|账户已?被?停用",
    ),
    # Before the words for a conversation that is too long: "Too many tokens, please wait" is a limit of the rate.
    _rule(
        "wait",
        "rate_limit_exceeded rate_limit_error rate_limit_reached_error rate_limited too_many_requests slow_down "
        "throttling throttlingexception throttling.ratequota throttling.allocationquota throttling.user "
        "limit_requests limit_burst_rate resource_exhausted overloaded_error overloaded engine_overloaded_error "
        "engine_overloaded server_overloaded capacity_exceeded modelnotreadyexception provider_unavailable "
        "serviceunavailableexception 1002 1302 1303 1305",
        r"too many requests|\brate[ _-]?limit(?:s|ed|ing)?\b|too many tokens, please wait",
        r"(?:tokens|requests) per (?:second|min|minute|hour|day)\b|throttl|please wait before",
        r"(?:try again|retry|wait)(?: after| for| in)? \d",
        r"\boverloaded\b|server is busy|temporarily unavailable|(?:at|over|out of) capacity|concurrency limit",
        r"no models provided|请求过于频繁|请求频率|限流|速率限制|并发数|负载过高|请稍[后候]再?重?试",
    ),
    _rule(
        "billing",
        "",
        r"(?:exceeded|reached) your (?:current )?(?:quota|usage limit|monthly limit)|check your plan and billing",
    ),
    _rule(
        "filter",
        "content_filter content_filtered content_policy_violation data_inspection_failed datainspectionfailed "
        "responsibleaipolicyviolation sensitive_words_detected prohibited_content input_flagged 1026 1027 1301",
        r"content exists risk|may contain (?:inappropriate|sensitive) content|datainspectionfailed",
        r"flagged (?:as|for) (?:potential|possib)\w*|(?:input|prompt|content|message|request) (?:was|has been) flagged",
        r"content management policy|content filter(?:ing|ed)? policy|responsible ai|safety system",
        r"(?:blocked|filtered|rejected|stopped) (?:by|due to) (?:\w+ ){0,3}(?:content|safety|guardrail|moderation)",
        r"violat\w+ (?:\w+['’]?s? ){0,3}(?:content|usage|safety|acceptable use)[ _-](?:polic|guideline)",
        r"content[ _]policy[ _]violation|guardrail[ _]intervened|considered high risk",
        r"sensitive (?:content|words)|new_sensitive|敏感|不安全.{0,4}内容|违规内容|违反.{0,12}(?:政策|规定|规范)",
        not_with=_NOT_OF_THE_CONVERSATION - {403},
    ),
    # Sums of conversation and reply, before the words that blame the reply alone.
    _rule(
        "context",
        "context_length_exceeded context_window_exceeded exceed_context_size_error contextwindowexceedederror "
        "model_context_window_exceeded 1261",
        r"`?inputs`? tokens \+ `?max_new_tokens`?|input length and `?max_tokens`? exceed|sum of prompt length",
        not_with=_NOT_OF_THE_CONVERSATION,
    ),
    _rule(
        "settings",
        "",
        r"max_?(?:completion_?|output_?|new_?)?tokens\b[^.:\[]{0,60}(?:too (?:large|high|big)|must be (?:less|"
        r"between|<)|should be (?:\[|less|between)|supported range|at most|exceeds? the (?:max|limit))",
        r"max tokens must be less|max_?(?:completion_|output_)?tokens\W{1,3}\d+ ?> ?\d|range of max_?\w*tokens",
        not_with=_NOT_OF_THE_CONVERSATION,
    ),
    _rule(
        "context",
        "",
        r"context_length_exceeded|contextwindowexceeded",
        r"context (?:length|window|size|limit) (?:was |is |has been )?exceed",
        r"maximum context length.{0,90}?(?:however|\bbut\b|requested|resulted|exceed|reduce|longer|\(\d)",
        r"exceed\w*(?: \w+){0,2}?(?: model['’]?s?)?(?: available| maximum| max| allowed)*"
        r" (?:context (?:window|length|size|limit)|input length|model token limit|max_seq_len|prompt length)",
        r"input token count.{0,30}exceeds|prompt token count of \d+ exceeds|input tokens exceed the configured limit",
        r"\bprompt (?:is |tokens )?too long\b|prompt exceeds max length|maximum prompt length is \d+ but",
        r"reduce the length of the (?:messages|prompt|input)|available context size",
        r"(?:greater|longer) than the (?:model['’]s )?(?:context length|maximum model length)|context the overflows",
        r"loaded with context length of only|input is too long for (?:the )?(?:requested )?model",
        r"too large for model with \d+ maximum context|range of input length should be|`?inputs`? must have less than",
        r"tokens in the prompt cannot exceed",
        r"超[过出].{0,12}(?:最大长度|上下文|token|长度限制)|(?:输入|上下文|prompt).{0,8}(?:超长|过长)",
        not_with=_NOT_OF_THE_CONVERSATION,
    ),
    _rule("call", "tool_use_failed", r"failed to call a function|model hallucinations", not_with=frozenset({429})),
    _rule(
        "access",
        "invalid_api_key api_key_invalid authentication_error unauthenticated 1004",
        r"api key not valid|(?:incorrect|invalid)[ _]api[ _-]?key|无效的令牌",
    ),
)
"""Meanings by what providers send, in the order in which they are tried: the codes of all rows first, then the words of
all rows. Numbers among the codes are those of z.ai (11xx, 12xx, 13xx) and MiniMax (10xx)."""

_TOOLS = re.compile(r"\btools?\b|\btool[ _-](?:use|calls?|choice)|\bfunction[ _-]?call")
_NONE = re.compile(
    r"not? support|n['’]t support|unsupported|(?:not|isn't) (?:enabled|available|allowed|permitted)|requires?\b.*--|"
    r"no endpoints found|"
    r"unknown (?:name|field|parameter)|unrecognized|extra inputs|only supports single|extra_forbidden"
)
"""With a word for what is meant in the same message, how vLLM, llama.cpp, Ollama, OpenRouter, OpenAI, Mistral, Groq and
others say that they do not take it."""
_TOOLLESS = frozenset({400, 404, 422, 500, 501})
"""Statuses with which some endpoint says that a model takes no tools."""
_OF_A_PARAMETER = frozenset({400, 413, 422})
_WANTED = re.compile(r"`(\w{1,40})`.{0,60}must be passed back")
_LATE_SYSTEM = re.compile(r"system message must be (?:at the beginning|(?:the )?first)|unexpected role 'system' after")
"""How templates of Qwen's models, behind vLLM (400) or llama.cpp (500), and Mistral's rules say it."""
_STREAM = re.compile(r"\bstream(?:s|ed|ing)?\b")

_MINUTE = re.compile(r"(?:\bper |\b[tr]p[mdh]\b).{0,60}?\blimit:? (\d+).{0,60}?\brequested:? (\d+)")
"""A limit of an account for some time, and what one request asks of it."""
_OVER = re.compile(r"context (?:length|window|size|limit)\D{1,40}(\d+) ?tokens?\D.{0,80}?(\d+)")
"""What a context holds, and what was sent."""
_SUMS = (
    re.compile(
        r"too large: (?P<reply>\d+).{0,60}?context length is (?P<limit>\d+)(?:.{0,40}?has (?P<conversation>\d+) input)?"
    ),
    re.compile(
        r"context length is (?P<limit>\d+).{0,60}?requested (?P<reply>\d+) output tokens"
        r"(?:.{0,40}?contains (?:at least )?(?P<conversation>\d+) input)?"
    ),
    re.compile(
        r"context length (?:is|of) (?P<limit>\d+).{0,80}?(?P<conversation>\d+) (?:in|of|tokens? from) (?:the |your )?"
        r"(?:messages|prompt|text input|input messages|input)[^\d].{0,60}?(?P<reply>\d+) (?:tokens )?(?:in|for) the "
        r"(?:completion|output)"
    ),
    re.compile(r"context limit: (?P<conversation>\d+) \+ (?P<reply>\d+) > (?P<limit>\d+)"),
    re.compile(r"must be <= (?P<limit>\d+).{0,20}?(?P<conversation>\d+) `?inputs`? tokens and (?P<reply>\d+)"),
)
"""Texts that state the tokens asked for as a reply, those of the conversation, and what the two may be together."""


def refusal_in(document: object, *, secret: str = "") -> Refusal | None:
    """The error that an answer of status 200 states instead of an answer, or beside one; None where it states none.

    Args:
        document: the answer, decoded.
        secret: the endpoint's key, which stands in no message.
    """
    if not isinstance(document, Mapping):
        return None
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    for holder in (document, first):
        if isinstance(holder, Mapping) and holder.get("error"):
            return Refusal(200, {"error": holder["error"]}, secret=secret)
    # Some gateways have no field for an error; of those that answer something, nothing is read into other fields.
    words = (document.get("message"), document.get("msg"), document.get("detail"))
    if not choices and (document.get("base_resp") or any(isinstance(part, str | list) and part for part in words)):
        return Refusal(200, document, secret=secret)
    return None


def takes_no_tools(refusal: Refusal) -> bool:
    """Whether a request with tools was refused because the model takes none."""
    # A status alone says nothing of tools; words that say something else do.
    if refusal.kind not in {"unknown", "model", "wait"} or (refusal.meant_status or 400) not in _TOOLLESS:
        return False
    return bool(_TOOLS.search(refusal.text) and _NONE.search(refusal.text))


def takes_no(refusal: Refusal, word: str) -> bool:
    """Whether a request was refused because of a parameter or a field in it that the model does not take.

    Args:
        refusal: what the endpoint said.
        word: the name of the parameter or field.
    """
    if refusal.meant_status not in _OF_A_PARAMETER or refusal.kind in {"settings", "context", "filter"}:
        return False
    named = bool(re.search(rf"\b{re.escape(word)}\b", refusal.text) and _NONE.search(refusal.text))
    return named or word in refusal.parameters


def takes_no_late_system(refusal: Refusal) -> bool:
    """Whether a request was refused because a system message in it is not the first message."""
    return refusal.meant_status in {*_OF_A_PARAMETER, 500} and bool(_LATE_SYSTEM.search(refusal.text))


def field_wanted(refusal: Refusal) -> str | None:
    """The field that an endpoint wants back in every answer of its model, where it refuses a request for want of it."""
    found = _WANTED.search(refusal.text) if refusal.meant_status in _OF_A_PARAMETER else None
    return found[1] if found else None


def names_a_stream(refusal: Refusal) -> bool:
    """Whether a refusal speaks of streams, as that of an endpoint which answers in streams alone."""
    return bool(_STREAM.search(refusal.text))


def _by_numbers(refusal: Refusal) -> RefusalKind | None:
    """The meaning of a text that compares what was asked for with a limit."""
    minute = _MINUTE.search(refusal.text)
    if minute and int(minute[2]) > int(minute[1]):
        return "settings"
    if refusal.meant_status in _NOT_OF_THE_CONVERSATION:
        return None
    found = next(filter(None, (pattern.search(refusal.text) for pattern in _SUMS)), None)
    if found:
        parts = {name: int(value or 0) for name, value in found.groupdict().items()}
        return "settings" if _reply_is_too_much(**parts) else "context"
    over = _OVER.search(refusal.text)
    return "context" if over and int(over[2]) > int(over[1]) else None


def _reply_is_too_much(*, reply: int, limit: int, conversation: int = 0) -> bool:
    """Whether it is the reply that leaves no room, and not the conversation: of a context that the two do not fit into,
    the reply alone was to have more than half.
    """
    return reply >= limit or (conversation < limit and 2 * reply > limit)


def _by_code(refusal: Refusal) -> RefusalKind | None:
    codes = set(refusal.codes)
    return next((rule.kind for rule in TABLE if codes & rule.codes and refusal.meant_status not in rule.not_with), None)


def _by_words(refusal: Refusal) -> RefusalKind | None:
    return next(
        (rule.kind for rule in TABLE if refusal.meant_status not in rule.not_with and rule.words.search(refusal.text)),
        None,
    )


def _by_status(refusal: Refusal) -> RefusalKind:
    status = refusal.meant_status
    if status is None:
        return "unknown"
    # Cerebras, which says nothing: the conversation was taken before, and has become too large since.
    if status == 413 and refusal.answered and not refusal.message:
        return "context"
    known: Mapping[int, RefusalKind] = {401: "access", 402: "billing", 403: "access", 404: "model"}
    if status in {408, 409, 424, 425, 429, 498} or status >= 500:
        return "wait"
    return known.get(status, "unknown")


def _parts(value: object, name: str = "message", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Words and codes of an error's body, each with the name of its field, outer ones first."""
    if depth > MOST_NESTED or value is None:
        return
    if isinstance(value, list):
        for item in value[:MOST_NESTED]:
            yield from _parts(item, name, depth + 1)
    elif isinstance(value, Mapping):
        for key in (*_CODES, "param"):
            if isinstance(value.get(key), str | int) and not isinstance(value.get(key), bool):
                yield key, value[key]
        if isinstance(value.get("loc"), list):
            yield "loc", ".".join(map(str, value["loc"][:MOST_NESTED]))
        for key in (*_WORDS, *_WITHIN):
            yield from _parts(value.get(key), key if key in _WORDS else "message", depth + 1)
    elif isinstance(value, str) and value.strip():
        inner = _decoded(value)
        if isinstance(inner, Mapping | list):
            yield from _parts(inner, name, depth + 1)
        else:
            yield name, value[: 4 * LONGEST_MESSAGE]


def _decoded(text: str) -> object:
    """The JSON that a text holds, as gateways have what their provider said; None where it holds none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
