"""A summary of a session tape: how many records of which kind, from when to when, and whether it is whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from openfingym.errors import TapeError, TapeState
from openfingym.market.commands import KINDS
from openfingym.market.tape import Record, RecordKind, TapeHeader
from openfingym.market.tape_reader import TapeReader

LONGEST_DIGEST = 64
"""Characters of a checkpoint's digest that are shown: a SHA-256 in hexadecimal, whatever the record holds."""


@dataclass(frozen=True)
class TapeSummary:
    """A tape in numbers; where it is cut or damaged, the part before that place."""

    header: TapeHeader
    """The tape's header."""
    state: TapeState
    """Whether the tape is complete, cut or damaged."""
    fault: str | None
    """What is wrong and where; None for a complete tape."""
    digest: str
    """SHA-256 of the tape's records, however they are stored."""
    file_bytes: int
    """Size of the file in bytes."""
    records: int
    """How many records there are, without the header and the end."""
    by_kind: dict[str, int]
    """How many records there are of each kind, by its name in small letters."""
    began_ns: int
    """When the session began, in nanoseconds since the epoch, UTC."""
    duration_s: float
    """Seconds from the beginning to the last record, by the monotonic clock."""
    frames_text: int
    """How many frames are text."""
    frames_binary: int
    """How many frames are binary."""
    frame_bytes: int
    """Bytes of all frames, text in UTF-8."""
    longest_silence_s: float
    """The longest time between two frames, in seconds."""
    told: dict[str, int]
    """How many messages for people there were of each of :data:`~openfingym.market.commands.KINDS`, such as ``gap``."""
    checkpoints: int
    """How many checkpoints there are."""
    last_checkpoint: str | None
    """Digest of the state at the last checkpoint; None without one."""
    masked: int | None
    """In how many places a secret was overwritten; None where the tape is not complete."""

    def to_dict(self) -> dict[str, object]:
        """The summary as a JSON object."""
        return asdict(self)


def summarize(path: Path) -> TapeSummary:
    """Read a tape from its beginning to its end, or as far as it can be read.

    Raises:
        TapeError: the tape's header cannot be read.
    """
    with TapeReader(path) as tape:
        count = _Count()
        fault = None
        try:
            for record in tape:
                count.add(record)
        except TapeError as error:
            fault = error
        return TapeSummary(
            header=tape.header,
            state="complete" if fault is None else fault.state,
            fault=None if fault is None else str(fault),
            digest=tape.digest,
            file_bytes=tape.file_bytes,
            records=tape.records - 1,
            by_kind={kind.name.lower(): count.kinds[kind] for kind in RecordKind if count.kinds[kind]},
            began_ns=tape.at.wall,
            duration_s=max(0, count.last - tape.at.monotonic) / 1e9 if count.kinds else 0.0,
            frames_text=count.text,
            frames_binary=count.kinds[RecordKind.FRAME] - count.text,
            frame_bytes=count.frame_bytes,
            longest_silence_s=count.silence / 1e9,
            told={kind: count.told[kind] for kind in KINDS if count.told[kind]},
            checkpoints=count.kinds[RecordKind.CHECKPOINT],
            last_checkpoint=count.checkpoint,
            masked=tape.masked if fault is None else None,
        )


class _Count:
    """Adds records up."""

    def __init__(self) -> None:
        self.kinds: Counter[RecordKind] = Counter()
        self.told: Counter[str] = Counter()
        self.text = self.frame_bytes = self.silence = self.last = 0
        self.checkpoint: str | None = None
        self._heard: int | None = None

    def add(self, record: Record) -> None:
        kind, payload = record.kind, record.payload
        self.kinds[kind] += 1
        self.last = record.at.monotonic
        if kind is RecordKind.FRAME:
            if isinstance(payload, str):
                self.text += 1
                payload = payload.encode(errors="surrogatepass")
            self.frame_bytes += len(payload)
            if self._heard is not None:
                self.silence = max(self.silence, self.last - self._heard)
            self._heard = self.last
        elif kind is RecordKind.CHECKPOINT:
            self.checkpoint = str(payload)[:LONGEST_DIGEST]
        elif kind is RecordKind.TOLD:
            self.told[_word(record)] += 1


def _word(record: Record) -> str:
    """The kind of a message for people; empty where a forged tape states one that there is not."""
    try:
        value = record.json()
    except ValueError:
        return ""
    word = value.get("kind") if isinstance(value, dict) else None
    return word if word in KINDS else ""
