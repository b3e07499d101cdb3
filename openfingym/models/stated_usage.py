"""Tokens as an endpoint states them, where it states any: what says nothing is unknown, and never nothing spent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from openfingym.models.messages import Usage

MOST_TOKENS = 10_000_000
"""Most tokens that are believed of one answer: several times what any model takes. Of what an endpoint states, a run
would otherwise be held to have used up its budget, or no figure could hold it."""
_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_BEYOND = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic's counts of cached input, which its ``input_tokens`` leave out."""
_WHOLE = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True)
class StatedUsage:
    """Counts that an endpoint states; None for each that it does not state, or states as what no answer can have."""

    prompt: int | None = None
    completion: int | None = None
    total: int | None = None
    cached: int = 0
    reasoning: int = 0

    @property
    def whole(self) -> Usage | None:
        """The usage, where both of its counts are stated; None else."""
        if self.prompt is None or self.completion is None:
            return None
        # More together than the two: thoughts that xAI and Gemini do not count among the completion, and charge for.
        completion = max(self.completion, min(MOST_TOKENS, (self.total or 0) - self.prompt))
        # A part is never more than its whole, or a price could be less than 0.
        return Usage(self.prompt, completion, min(self.cached, self.prompt), min(self.reasoning, completion))

    def filled(self, estimate: Usage) -> Usage:
        """The usage with an estimate of what is not stated, so that a limit holds.

        Args:
            estimate: tokens by the number of characters.
        """
        if (whole := self.whole) is not None:
            return whole
        prompt, completion, total = self.prompt, self.completion, self.total or 0
        if completion is None:
            rest = 0 if prompt is None else total - prompt
            completion = max(estimate.completion, rest)
        return Usage(max(estimate.prompt, total - completion) if prompt is None else prompt, completion)


def read_usage(value: object, *, said: bool) -> StatedUsage:
    """Read the field ``usage`` of an answer.

    Args:
        value: the field, which may be anything.
        said: whether the answer holds anything, so that its tokens cannot be none.
    """
    if not isinstance(value, Mapping):
        return StatedUsage()
    prompt, completion = _first(value, _PROMPT), _first(value, _COMPLETION, least=1 if said else 0)
    cached = _detail(value, "prompt_tokens_details", "input_tokens_details", name="cached_tokens")
    cached = cached or _tokens(value.get("prompt_cache_hit_tokens")) or 0
    beyond = sum(_tokens(value.get(name)) or 0 for name in _BEYOND) if "prompt_tokens" not in value else 0
    if prompt is not None:
        # A count of what is not cached alone: the cached part is no part of it, and costs as well.
        beyond = beyond or (cached if cached > prompt else 0)
        prompt = min(MOST_TOKENS, prompt + beyond)
    if beyond and not cached:
        cached = _tokens(value.get(_BEYOND[0])) or 0
    return StatedUsage(
        prompt,
        completion,
        _tokens(value.get("total_tokens")),
        cached,
        _detail(value, "completion_tokens_details", "output_tokens_details", name="reasoning_tokens"),
    )


def _first(value: Mapping[str, object], names: tuple[str, ...], *, least: int = 1) -> int | None:
    """The first count of these names that says something: no request is of no tokens."""
    counts = (_tokens(value.get(name)) for name in names)
    return next((count for count in counts if count is not None and count >= least), None)


def _detail(value: Mapping[str, object], *parts: str, name: str) -> int:
    """A count among the details of a usage; 0 where it is not stated."""
    details = (value.get(part) for part in parts)
    return next((_tokens(part.get(name)) or 0 for part in details if isinstance(part, Mapping)), 0)


def _tokens(value: object) -> int | None:
    """A count of tokens: a whole number, also as a decimal or in a text; None for anything else."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MOST_TOKENS else None
