"""What is on a session tape, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from openfingym.errors import TapeError, TapeState
from openfingym.market.commands import KINDS
from openfingym.market.tape import Record, RecordKind, TapeHeader
from openfingym.market.tape_reader import TapeReader

LONGEST_DIGEST = 64


@dataclass(frozen=True)
class TapeSummary:
    """A tape in numbers; of one that is cut or damaged, of what is before the place."""

    header: TapeHeader
    state: TapeState
    fault: str | None
    """What is wrong and where; None of a complete tape."""
    digest: str
    """Digest of the tape's records, however they are stored."""
    file_bytes: int
    records: int
    """Records, the header and the end left out."""
    by_kind: dict[str, int]
    """How many of each kind, by its name in small letters."""
    began_ns: int
    """When the session began, in nanoseconds since the epoch, UTC."""
    duration_s: float
    """From the beginning to the last record, by the monotonic clock."""
    frames_text: int
    frames_binary: int
    frame_bytes: int
    """Bytes of all frames; of text in UTF-8."""
    longest_silence_s: float
    """The longest time between two frames."""
    told: dict[str, int]
    """How often the session told each of :data:`~openfingym.market.commands.KINDS`, such as ``gap``."""
    checkpoints: int
    last_checkpoint: str | None
    """Digest of the state at the last checkpoint."""
    masked: int | None
    """Places where a secret was overwritten; known of a complete tape."""

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def summarize(path: Path) -> TapeSummary:
    """Read a tape from its beginning to its end, or as far as it can be read.

    Raises:
        TapeError: not even its header can be read.
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
    """What a session told; empty where it is none of the words that it may be."""
    try:
        value = record.json()
    except ValueError:
        return ""
    word = value.get("kind") if isinstance(value, dict) else None
    return word if word in KINDS else ""
