"""The session tape: a file of everything that went into a live session, from which it can be replayed.

The file begins with :data:`MAGIC`; blocks follow, of records one after the other:

    block   = stored bytes, raw bytes, CRC-32 of these two numbers (12 bytes)
              + a piece of one raw deflate stream that goes through all blocks
              + SHA-256 of the digest before it and of everything above (32 bytes)
    record  = kind, connection, nanoseconds since the record before, wall less monotonic clock, length (25 bytes)
              + payload

Numbers are little-endian. The first record is the header and the last one the end, which holds the tape's digest:
SHA-256 of all records before it, however they were cut into blocks. A tape without an end is that of a session that was
killed, or still runs. :mod:`~openfingym.market.tape_writer` writes tapes, :mod:`~openfingym.market.tape_reader` reads
them; the format that both share is defined here.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from importlib import metadata
from typing import NamedTuple, Protocol

from openfingym.digests import canonical_json
from openfingym.errors import DataError
from openfingym.files.strange import parse_json
from openfingym.market.commands import Instant, RestAnswer, Tell
from openfingym.market.feed import Frame, Request
from openfingym.market.redaction import without_secrets, without_secrets_in_text
from openfingym.version import __version__

FORMAT = 1
"""Version of the format, stated in the header."""
MAGIC = b"OFGTAPE1"
"""Bytes with which every tape begins."""
BLOCK_SIZES = struct.Struct("<II")
"""Stored and raw bytes of a block."""
BLOCK_CHECK = struct.Struct("<I")
"""CRC-32 of the two sizes: they are needed before the block's digest can be checked."""
RECORD = struct.Struct("<BIqqI")
"""Kind, connection, step of the monotonic clock, wall less monotonic clock, and length of the payload."""
TEXT = 0x80
"""Added to the kind of a record whose payload is text."""
HEADER, END = 0, 15
"""Kinds of the first record and the last one, which are the tape's own."""
MOST_PAYLOAD = 65 << 20
"""Bytes of a record's payload at most: an answer of 64 MiB and its status, with room to spare."""
MOST_BLOCK = 256 << 10
"""Raw bytes of a block at most, but for one record that is longer by itself."""
MOST_RAW = RECORD.size + MOST_PAYLOAD + MOST_BLOCK
"""Raw bytes of a block beyond which a reader refuses it."""
DIGEST_BYTES = 32
"""Bytes of a SHA-256."""


class RecordKind(IntEnum):
    """What a record is of. Inputs of the machine are START to PASSED without ASKED, and REFRESHED to REPORTED."""

    START = 1
    """The session has begun."""
    OPENED = 2
    """A connection was opened."""
    FRAME = 3
    """A frame as it was received."""
    CLOSED = 4
    """A connection has ended: the reason, as text."""
    ASKED = 5
    """A question that was put, as :func:`asked` writes it; its number stands in the place of the connection."""
    ANSWERED = 6
    """Its answer, as :func:`answered` writes it; the question's number stands in the place of the connection."""
    PASSED = 7
    """Time has passed."""
    TOLD = 8
    """A message for people, as :func:`told` writes it."""
    CHECKPOINT = 9
    """The digest of the machine's state after all inputs so far, as text."""
    OBSERVATION = 10
    """What an agent read, as JSON; so are the next four."""
    ORDER = 11
    EXECUTION = 12
    FILL = 13
    NOTE = 14
    REFRESHED = 16
    """Symbols of which somebody needed fresher values, as a JSON array."""
    DECIDED = 17
    """An agent's decision as JSON; see :func:`openfingym.market.session.machine.decision_payload`."""
    LEFT = 18
    """The agent decides no more."""
    REPORTED = 19
    """What a broker's account holds, as JSON; see :func:`openfingym.market.session.broker_account.report`."""


class Record(NamedTuple):
    """One record of a tape."""

    number: int
    """Place of the record on the tape; the header is number 0."""
    kind: RecordKind
    """What it is of."""
    at: Instant
    """When it happened."""
    connection: int
    """Number of the connection or the question that it is of; 0 where it is of none."""
    payload: Frame
    """What happened, in the form of its kind."""

    def json(self) -> object:
        """The payload as a JSON value.

        Raises:
            ValueError: the payload is no JSON.
        """
        return parse_json(self.payload)


def versions() -> dict[str, str]:
    """Versions of what a session depends on, by name; what is not installed is left out."""
    by_name = {"openfingym": __version__, "python": platform.python_version()}
    for name in ("aiohttp", "websockets"):
        try:
            by_name[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return by_name


@dataclass(frozen=True)
class TapeHeader:
    """The header of a tape: what it takes to replay the session."""

    venue: str
    """Name of the venue, such as ``binance``."""
    feed: Mapping[str, object] = field(default_factory=dict)
    """Arguments that the feed was made with, as JSON; what looks like a secret is left out when it is written."""
    simulated: bool = False
    """Whether the venue is one of :mod:`openfingym.market.sim`."""
    task: str = ""
    """Digest of the task; empty where there is none."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    """Seed of each source of randomness, by name."""
    versions: Mapping[str, str] = field(default_factory=versions)
    """Versions of what the session ran on, by name; see :func:`versions`."""
    session: Mapping[str, object] = field(default_factory=dict)
    """Terms of the session; empty where no account trades."""
    format: int = FORMAT
    """Version of the tape's format."""

    def encoded(self) -> bytes:
        """The payload of the header's record."""
        own = {"feed": without_secrets(self.feed), "seeds": dict(self.seeds)}
        own |= {"versions": dict(self.versions), "session": dict(self.session)}
        return canonical_json({each.name: getattr(self, each.name) for each in fields(self)} | own)

    @classmethod
    def decoded(cls, payload: Frame) -> TapeHeader:
        """The header in its record's payload.

        Raises:
            ValueError: the payload is no header, or one of another format.
        """
        value = parse_json(payload)
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            stated = value.get("format") if isinstance(value, dict) else None
            raise ValueError(f"it is of format {str(stated)[:20]}, and this version reads format {FORMAT}")
        names = {each.name for each in fields(cls)}
        kinds = {"venue": str, "simulated": bool, "task": str, "format": int}
        if (
            value.keys() != names
            or any(type(value[name]) is not kinds.get(name, dict) for name in names)  # isinstance() takes True for 1
            or any(type(seed) is not int for seed in value["seeds"].values())
            or any(type(version) is not str for version in value["versions"].values())
        ):
            raise ValueError(f"its header does not hold {', '.join(sorted(names))} as a writer writes them")
        # Otherwise NaN and lone surrogates, which Python's JSON lets through, would fail where they are shown.
        if canonical_json(value) != payload:
            raise ValueError("its header is not in the canonical form of JSON")
        return cls(**value)


class Recorder(Protocol):
    """Records everything that happens in a session; a runner calls it before the machine is told."""

    @property
    def lagging(self) -> bool:
        """Whether so much waits to be written that a runner should await :meth:`settle` before it reads on."""

    def record(self, kind: RecordKind, at: Instant, connection: int = 0, payload: Frame = b"") -> None:
        """Record what happened; nothing is dropped without an error. May be called from any thread.

        Raises:
            StoreError: the tape cannot be written, or not as fast as it comes.
            UsageError: the recorder is closed, or the record has more than :data:`MOST_PAYLOAD` bytes or numbers out
                of range.
        """

    def hide(self, secret: str) -> None:
        """Keep a secret off the tape.

        Raises:
            UsageError: it is shorter than 8 characters.
        """

    async def settle(self) -> None:
        """Wait until the recorder does not lag any more.

        Raises:
            StoreError: the tape cannot be written.
        """

    def close(self) -> None:
        """End the tape; a second call does nothing.

        Raises:
            StoreError: it cannot be written.
        """


class NoRecorder:
    """Records nothing."""

    lagging = False

    def record(self, kind: RecordKind, at: Instant, connection: int = 0, payload: Frame = b"") -> None:
        """See :class:`Recorder`."""

    def hide(self, secret: str) -> None:
        """See :class:`Recorder`."""

    async def settle(self) -> None:
        """See :class:`Recorder`."""

    def close(self) -> None:
        """See :class:`Recorder`."""


_ANSWER = struct.Struct("<Hdq")
"""Status, seconds to wait, and use of the limit; -1 where the venue says nothing of these two."""


def asked(request: Request) -> bytes:
    """Payload of an ASKED record: the request without header fields, and without signatures and keys in its query or
    body.
    """
    body = None if request.body is None else without_secrets_in_text(request.body)
    return canonical_json({"method": request.method, "path": without_secrets_in_text(request.path), "body": body})


def answered(answer: RestAnswer) -> bytes:
    """Payload of an ANSWERED record."""
    wait_s = -1.0 if answer.retry_after_s is None else answer.retry_after_s
    return _ANSWER.pack(answer.status, wait_s, -1 if answer.used is None else answer.used) + answer.body


def read_answer(payload: Frame) -> RestAnswer:
    """The answer of an ANSWERED record.

    Raises:
        DataError: the payload is not that of an answer.
    """
    if isinstance(payload, str) or len(payload) < _ANSWER.size:
        raise DataError(
            f"the record of an answer has {len(payload)} bytes or is text; expected {_ANSWER.size} bytes of status and "
            "limits, and the body: record answers with answered()"
        )
    status, wait_s, used = _ANSWER.unpack_from(payload)
    body = payload[_ANSWER.size :]
    return RestAnswer(status, body, None if wait_s < 0 else wait_s, None if used < 0 else used)


def told(tell: Tell) -> bytes:
    """Payload of a TOLD record."""
    return canonical_json(tell._asdict())
