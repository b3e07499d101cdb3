"""Every error this project raises on purpose.

The tree follows the boundary that was crossed, so that a caller can tell whose fault it was::

    OpenFinGymError
    ├── UsageError                  the caller asked for something impossible
    ├── TaskError                   a task package is wrong (names the file and the key)
    │   └── TaskNotFoundError       no task of that name (suggests near misses)
    ├── DataError                   a dataset is missing, damaged or inconsistent
    │   └── TapeError               a session tape is cut or damaged (names the place)
    ├── StoreError                  the built-package store cannot be read or written
    │   └── DigestMismatchError     a built package is not what its digest says
    ├── ReceiptError                a receipt does not prove what it should (names the step)
    ├── SubmissionError             the agent's submission was refused (the agent's fault)
    ├── BackendUnavailableError     a backend cannot keep its promises on this machine
    ├── RuntimeFailureError         isolation or launching failed (ours)
    ├── ModelUnavailableError       a model's endpoint is down, limited or does not let us in (ours)
    ├── BudgetSpentError            a budget of money or tokens allows no further request to a model
    ├── ModelRefusedError           a model's endpoint refused this very request (the agent's or the model's)
    ├── VenueError                  a market's venue cannot be reached, or refuses us
    │   ├── ConnectionClosedError   a connection to it has ended, or cannot be opened
    │   └── FeedError               what it sends is not of its protocol
    └── VerifierError               the verifier is unreachable or failed (ours)
        ├── VerifierAbsentError     nothing at its address answers like a verifier
        └── VerifierAwayError       it did not come back in the time that it was waited for

Rooms have subclasses of these for what only they raise. A message says what was found, what was
expected and what to do next. The command line prints the message without a traceback and exits with
the class's ``exit_code``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    # At run time nothing here needs it, and it is much of what `openfingym --help` would import.
    from pathlib import Path

__all__ = [
    "BackendUnavailableError",
    "BudgetSpentError",
    "ConnectionClosedError",
    "DataError",
    "DigestMismatchError",
    "FeedError",
    "ModelRefusedError",
    "ModelUnavailableError",
    "OpenFinGymError",
    "ReceiptError",
    "RuntimeFailureError",
    "StoreError",
    "SubmissionError",
    "TapeError",
    "TaskError",
    "TaskNotFoundError",
    "UsageError",
    "VenueError",
    "VerifierAbsentError",
    "VerifierAwayError",
    "VerifierError",
]


class OpenFinGymError(Exception):
    """Base of all errors raised on purpose by OpenFinGym."""

    exit_code = 1
    """Status with which the command line exits after this error."""


class UsageError(OpenFinGymError):
    """The caller asked for something that cannot be done."""

    exit_code = 2


class TaskError(OpenFinGymError):
    """A task package is malformed.

    Attributes:
        path: path of the file that is wrong; None if no file is known.
        key: dotted key inside that file, such as ``task.name``; None if no key is known.
    """

    exit_code = 5

    def __init__(self, message: str, *, path: Path | None = None, key: str | None = None) -> None:
        where = ": ".join(str(part) for part in (path, key) if part)
        super().__init__(f"{where}: {message}" if where else message)
        self.path = path
        self.key = key


class TaskNotFoundError(TaskError):
    """No task of that name is known."""

    exit_code = 2


class DataError(OpenFinGymError):
    """A dataset is missing, damaged or inconsistent."""

    exit_code = 6


TapeState = Literal["complete", "cut", "damaged", "unreadable"]
"""How much of a session tape there is."""


class TapeError(DataError):
    """A session tape cannot be read to its end, but it can be read up to the damage.

    Attributes:
        state: ``cut`` if the tape ends too early, like that of a session that was killed; ``damaged`` if it is not what
            was written; ``unreadable`` if it is not a session tape, or not a file that may be read.
        offset: byte of the file at which the first block begins that cannot be read.
        records: number of whole records before that block, the header included.
    """

    def __init__(self, message: str, *, state: TapeState, offset: int, records: int) -> None:
        super().__init__(message)
        self.state = state
        self.offset = offset
        self.records = records

    def __reduce__(self) -> tuple[partial[TapeError], tuple[object, ...]]:
        # Copied with its keywords; see SubmissionError.
        return partial(type(self), state=self.state, offset=self.offset, records=self.records), self.args


class StoreError(OpenFinGymError):
    """The store of built packages cannot be read or written."""

    exit_code = 6


class DigestMismatchError(StoreError):
    """A built package differs from the digest recorded when it was built."""


ReceiptStep = Literal[
    "format", "checkpoint", "signature", "inclusion", "consistency", "entry", "result", "score", "ledger"
]
"""Steps of checking a receipt or a log."""


class ReceiptError(OpenFinGymError):
    """A receipt, or the checkpoint of a log, does not prove what it should.

    Attributes:
        step: the step of checking that failed.
        index: number of the log's entry at which it failed, from 0; None if the failure is not about one entry.
    """

    exit_code = 7

    def __init__(self, message: str, *, step: ReceiptStep, index: int | None = None) -> None:
        super().__init__(message)
        self.step = step
        self.index = index

    def __reduce__(self) -> tuple[partial[ReceiptError], tuple[object, ...]]:
        # Copied with its keywords; see SubmissionError.
        return partial(type(self), step=self.step, index=self.index), self.args


class SubmissionError(OpenFinGymError):
    """A submission was refused, which is the agent's fault.

    Attributes:
        problem: the stable name of the problem, such as ``wrong-shape``.
    """

    exit_code = 3

    def __init__(self, message: str, *, problem: str) -> None:
        super().__init__(message)
        self.problem = problem

    def __reduce__(self) -> tuple[partial[SubmissionError], tuple[object, ...]]:
        # When an exception is copied to another process, its class is called with the positional arguments alone, which
        # fails if it requires keywords.
        return partial(type(self), problem=self.problem), self.args


class BackendUnavailableError(OpenFinGymError):
    """A backend cannot keep its isolation promises on this machine; the message says why."""

    exit_code = 4


class RuntimeFailureError(OpenFinGymError):
    """Launching or isolating an agent failed for a reason of ours."""

    exit_code = 4


class ModelUnavailableError(OpenFinGymError):
    """A model's endpoint is down, limits us, does not let us in, or gives no valid answer; never the agent's fault."""

    exit_code = 4


class BudgetSpentError(OpenFinGymError):
    """A budget of money or tokens allows no further request to a model."""

    exit_code = 4


RefusalReason = Literal["context-too-long", "content-filter", "no-tools", "bad-call", "settings", "bad-request"]


class ModelRefusedError(OpenFinGymError):
    """Raised when a model's endpoint refuses this very request, and would refuse it again.

    Attributes:
        reason: ``context-too-long``; ``content-filter``; ``no-tools`` if the endpoint takes no tools for this model;
            ``bad-call`` if the model wrote a call that its endpoint cannot read; ``settings`` if no conversation would
            fit, for what the run asks or the account allows; ``bad-request`` for anything else.
    """

    exit_code = 3

    def __init__(self, message: str, *, reason: RefusalReason) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[partial[ModelRefusedError], tuple[object, ...]]:
        # Copied with its keyword; see SubmissionError.
        return partial(type(self), reason=self.reason), self.args


class VenueError(OpenFinGymError):
    """A market's venue cannot be reached, or refuses us."""

    exit_code = 4


class ConnectionClosedError(VenueError):
    """A connection to a venue has ended, or cannot be opened.

    Attributes:
        retry_after_s: seconds that the venue asks to wait; None if it says nothing about that.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class FeedError(VenueError):
    """What a venue sends is not of its protocol."""


class VerifierError(OpenFinGymError):
    """The verifier is unreachable, or failed; never the agent's fault.

    Attributes:
        problem: the stable name of the problem for which the verifier refused, such as ``deadline-passed``; empty if it
            named none.
    """

    exit_code = 4

    def __init__(self, message: str = "", *, problem: str = "") -> None:
        super().__init__(message)
        self.problem = problem


class VerifierAbsentError(VerifierError):
    """Nothing at the address answers like a verifier."""


class VerifierAwayError(VerifierError):
    """The verifier was waited for, and did not come back."""
