"""What a judge replied: one score, or an error of the judge's, which is never a score."""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple

from openfingym.judging.protocols import JudgingProtocol

_OBJECT = re.compile(r"\{[^{}]*\}")
_LONGEST = 20_000


class JudgeReply(NamedTuple):
    """A judge's reply, read strictly."""

    score: Literal[0, 1] | None
    """None where there is none."""
    problem: str
    """Why there is none; ``null`` where the judge says that the truth has no numbers. Empty with a score."""


def read_reply(text: str, protocol: JudgingProtocol, token: str) -> JudgeReply:
    """Read a reply.

    Args:
        text: what the judge said, all of it.
        protocol: the protocol under which the judge was asked.
        token: which the JSON of its reply must repeat.

    Returns:
        A score where the reply has one JSON object with the key of the protocol, which has the token and stands last;
        else what is wrong. Objects without the token that state a score make it an error too: two scores are none.
    """
    if not text.strip():
        return JudgeReply(None, "nothing was said")
    if len(text) > _LONGEST:
        return JudgeReply(None, f"{len(text):,} characters")
    stated = [(match, _parsed(match[0])) for match in _OBJECT.finditer(text)]
    scores = [(match, found) for match, found in stated if found is not None and protocol.key in found]
    if not scores:
        return JudgeReply(None, f"no JSON with {protocol.key!r}")
    if len(scores) > 1:
        return JudgeReply(None, f"{len(scores)} scores")
    match, found = scores[0]
    if found.keys() != {protocol.key, "token"} or found["token"] != token:
        return JudgeReply(None, "its JSON lacks the token, or has other keys")
    if text[match.end() :].strip(" \n`"):
        return JudgeReply(None, "its JSON is not the last line")
    score = found[protocol.key]
    if protocol.knows_null and (score is None or score == "null"):
        return JudgeReply(None, "null")
    if type(score) is not int or score not in {0, 1}:
        return JudgeReply(None, f"the score {str(score)[:20]!r}")
    return JudgeReply(1 if score == 1 else 0, "")


def _parsed(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)
