"""Inputs of a live market's machine as they are recorded, so that a replay tells a new machine exactly the same."""

from __future__ import annotations

import json
import math
import struct
from enum import IntEnum

from openfingym.errors import DataError
from openfingym.market.commands import Answer, Command, Instant
from openfingym.market.feed import Frame
from openfingym.market.ingest import Ingest

_ANSWER = struct.Struct("<Hdq")


class Kind(IntEnum):
    """What a record is of; all but ASKED and TOLD are inputs."""

    START = 1
    OPENED = 2
    FRAME = 3
    """The frame as it was received."""
    CLOSED = 4
    """See :func:`~openfingym.market.commands.ending`."""
    ASKED = 5
    """A question, for people: without its header fields, which hold keys."""
    ANSWERED = 6
    """See :func:`answer_payload`; the question's number stands for the connection."""
    PASSED = 7
    TOLD = 8
    """What was told to people."""
    REFRESHED = 16
    """Symbols of which somebody needed fresher values, as a JSON array."""


def answer_payload(answer: Answer) -> bytes:
    """How an answer is recorded: status, seconds to wait (no number for None), weight used (-1 for None), and the body."""
    wait = math.nan if answer.retry_after_s is None else answer.retry_after_s
    return _ANSWER.pack(answer.status, wait, -1 if answer.used is None else answer.used) + answer.body


def answer_of(payload: bytes) -> Answer:
    """The answer that was recorded so."""
    status, wait, used = _ANSWER.unpack_from(payload)
    return Answer(status, payload[_ANSWER.size :], None if math.isnan(wait) else wait, None if used < 0 else used)


def replay(machine: Ingest, kind: int, at: Instant, connection: int, payload: Frame) -> list[Command]:
    """Tell a machine one recorded input; what is no input changes nothing.

    Raises:
        DataError: the payload is not one of this kind.
    """
    try:
        match kind:
            case Kind.START:
                return machine.start(at)
            case Kind.OPENED:
                return machine.opened(connection, at)
            case Kind.FRAME:
                return machine.frame(connection, payload, at)
            case Kind.CLOSED:
                return machine.closed(connection, str(payload), at)
            case Kind.ANSWERED:
                content = payload.encode() if isinstance(payload, str) else payload
                return machine.answered(connection, answer_of(content), at)
            case Kind.PASSED:
                return machine.passed(at)
            case Kind.REFRESHED:
                return machine.refresh(json.loads(payload), at)
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise DataError(f"The tape holds a record of kind {kind} that cannot be replayed ({error}).") from None
    return []
