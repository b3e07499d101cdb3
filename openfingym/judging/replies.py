"""Reading a judge's reply strictly: it holds one score, or else it is an error of the judge's and no score."""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple

from openfingym.judging.protocols import JudgingProtocol

_OBJECT = re.compile(r"\{[^{}]*\}")
_LONGEST = 20_000
"""Most characters of a reply that is read."""


class JudgeReply(NamedTuple):
    """A judge's reply, read strictly."""

    score: Literal[0, 1] | None
    """1 for right, 0 for wrong; None where the reply states no score that can be read."""
    problem: str
    """Why there is no score; ``null`` where the judge says that the truth has no numbers. Empty where there is one."""


def read_reply(text: str, protocol: JudgingProtocol, token: str) -> JudgeReply:
    """Read a reply.

    Args:
        text: the whole text of the reply.
        protocol: the protocol by which the judge was asked.
        token: the random text that the JSON of the reply must repeat.

    Returns:
        A score where the reply has one JSON object with the key of the protocol, which has the token and stands last;
        else what is wrong. Objects without the token that state a score make it an error too: two scores are none.
    """
    if not text.strip():
        return JudgeReply(None, "nothing was said")
    if len(text) > _LONGEST:
        return JudgeReply(None, f"{len(text):,} characters")
    objects = [(match, _parsed(match[0])) for match in _OBJECT.finditer(text)]
    scores = [(match, document) for match, document in objects if document is not None and protocol.key in document]
    if not scores:
        return JudgeReply(None, f"no JSON with {protocol.key!r}")
    if len(scores) > 1:
        return JudgeReply(None, f"{len(scores)} scores")
    match, document = scores[0]
    if document.keys() != {protocol.key, "token"} or document["token"] != token:
        return JudgeReply(None, "its JSON lacks the token, or has other keys")
    # Models put the object into a fence now and then, whose end may follow it.
    if text[match.end() :].strip(" \n`"):
        return JudgeReply(None, "its JSON is not the last line")
    score = document[protocol.key]
    if protocol.knows_null and (score is None or score == "null"):
        return JudgeReply(None, "null")
    # By type: true is an int in Python, and equal to 1.
    if type(score) is not int or score not in {0, 1}:
        return JudgeReply(None, f"the score {str(score)[:20]!r}")
    return JudgeReply(1 if score == 1 else 0, "")


def _parsed(text: str) -> dict[str, object] | None:
    """A text as a JSON object without repeated keys; None where it is none."""
    try:
        document = json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Of two values of one key, readers of JSON take the last: two scores would look like one.
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)
