"""Replaying a session tape: a new machine gets the inputs of the live one, and its state is compared at checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from openfingym.errors import DataError
from openfingym.market.commands import Command, Instant, RestAnswer
from openfingym.market.feed import Frame
from openfingym.market.tape import Record, RecordKind, read_answer


class Machine(Protocol):
    """What takes the inputs on a tape, such as :class:`~openfingym.market.ingest.Ingest`. Its commands are dropped:
    what came of them is on the tape.
    """

    def start(self, at: Instant) -> list[Command]:
        """The session begins."""

    def opened(self, connection: int, at: Instant) -> list[Command]:
        """A connection is open."""

    def frame(self, connection: int, frame: Frame, at: Instant) -> list[Command]:
        """A frame was received."""

    def closed(self, connection: int, reason: str, at: Instant) -> list[Command]:
        """A connection has ended, or could not be opened."""

    def answered(self, question: int, answer: RestAnswer, at: Instant) -> list[Command]:
        """A question was answered."""

    def passed(self, at: Instant) -> list[Command]:
        """Time has passed."""

    def refresh(self, symbols: Sequence[str], at: Instant) -> list[Command]:
        """Somebody needs fresher values of these symbols."""


@runtime_checkable
class TradingMachine(Machine, Protocol):
    """A machine with an account, as :class:`~openfingym.market.session.machine.TradingIngest`."""

    def decided(self, payload: Frame, at: Instant) -> list[Command]:
        """An agent has decided."""

    def reported(self, payload: Frame, at: Instant) -> list[Command]:
        """A broker has reported what the account holds."""

    def leave(self, at: Instant) -> list[Command]:
        """The agent decides no more."""


@dataclass(frozen=True)
class ReplayDifference:
    """A checkpoint at which a replay is in another state than the session was."""

    record: int
    """Number of the checkpoint's record."""
    agreed: int
    """Number of the last record at which both agreed; 0, the header, where no checkpoint did."""
    recorded: str
    """Digest of the session's state at the checkpoint."""
    replayed: str
    """Digest of the replay's state there."""

    def __str__(self) -> str:
        """The difference in a sentence."""
        return (
            f"the states differ at record {self.record:,} ({self.replayed[:12]} in place of {self.recorded[:12]}); "
            f"they last agreed at record {self.agreed:,}"
        )


@dataclass(frozen=True)
class TapeReplay:
    """How a replay went."""

    inputs: int
    """How many inputs the machine was told."""
    checkpoints: int
    """How many checkpoints it passed in the same state as the session."""
    difference: ReplayDifference | None
    """The first checkpoint at which the states differ, where the replay stops; None where none does."""


def replay(records: Iterable[Record], machine: Machine, digest: Callable[[], str]) -> TapeReplay:
    """Tell a machine every input on a tape, and compare its state at the checkpoints.

    Args:
        records: the tape's records, as a :class:`~openfingym.market.tape_reader.TapeReader` gives them.
        machine: a new machine, made as the one of the session was.
        digest: gives the digest of the machine's state, as the session's checkpoints have it.

    Raises:
        TapeError: the tape is cut or damaged; the machine has been told everything before the place.
        DataError: a record does not hold what its kind says.
    """
    inputs_of = tellers(machine)
    inputs = checkpoints = agreed = 0
    for record in records:
        enter = inputs_of.get(record.kind)
        if enter is not None:
            inputs += 1
            try:
                enter(record)
            except Exception as error:
                error.add_note(f"at record {record.number:,} of the tape")
                raise
        elif record.kind is RecordKind.CHECKPOINT:
            replayed = digest()
            if replayed != record.payload:
                return TapeReplay(
                    inputs, checkpoints, ReplayDifference(record.number, agreed, str(record.payload), replayed)
                )
            checkpoints, agreed = checkpoints + 1, record.number
    return TapeReplay(inputs, checkpoints, None)


def tellers(machine: Machine) -> dict[RecordKind, Callable[[Record], list[Command]]]:
    """Functions that tell a machine the input in a record, by the kind of record; other kinds are no inputs."""
    return {
        RecordKind.START: lambda record: machine.start(record.at),
        RecordKind.OPENED: lambda record: machine.opened(record.connection, record.at),
        RecordKind.FRAME: lambda record: machine.frame(record.connection, record.payload, record.at),
        RecordKind.CLOSED: lambda record: machine.closed(record.connection, _reason(record), record.at),
        RecordKind.ANSWERED: lambda record: machine.answered(record.connection, read_answer(record.payload), record.at),
        RecordKind.PASSED: lambda record: machine.passed(record.at),
        RecordKind.REFRESHED: lambda record: machine.refresh(_symbols(record), record.at),
        RecordKind.DECIDED: lambda record: _trading(machine).decided(record.payload, record.at),
        RecordKind.REPORTED: lambda record: _trading(machine).reported(record.payload, record.at),
        RecordKind.LEFT: lambda record: _trading(machine).leave(record.at),
    }


def _trading(machine: Machine) -> TradingMachine:
    if not isinstance(machine, TradingMachine):
        raise DataError("the tape holds decisions of an agent, and the machine it is told to has no account")
    return machine


def _reason(record: Record) -> str:
    if not isinstance(record.payload, str):
        raise DataError("the record of a connection's end holds bytes; expected its reason as text")
    return record.payload


def _symbols(record: Record) -> list[str]:
    try:
        value = record.json()
    except ValueError:
        value = None
    if not isinstance(value, list) or not all(isinstance(symbol, str) for symbol in value):
        raise DataError("the record of a refreshment holds something else; expected a JSON list of symbols")
    return value
