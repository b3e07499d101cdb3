"""Who knows the truth of a question: what a provider is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from openfingym.errors import OpenFinGymError
    from openfingym.questions.question import Question

RECORDED = "recorded"
"""Name of the provider of truths that the verifier keeps to itself until their clock has come to them."""
Truth = float | tuple[float, ...]
"""The truth of a question: of ``probability`` the payout in [0, 1] of what was asked, of ``probabilities`` and
``choice`` one payout for each outcome, which sum to 1; else a number in the question's unit."""


@dataclass(frozen=True)
class ProviderAnswer:
    """What a provider says of a question that is due."""

    status: Literal["resolved", "waiting", "void"]
    """``waiting``: not final yet, whatever is shown; ``void``: there will be no truth."""
    truth: Truth | None = None
    """Of ``resolved`` alone."""
    reason: str = ""
    """Why it waits or is void, in the provider's words where there are some, such as ``disputed``."""
    source: str = ""
    """Address that was asked, without keys."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """What was answered, as JSON, as far as it decides; at most 16 KB."""
    vintage: str = ""
    """Of a figure that is restated: which print it is, such as the day of its release."""
    provider_ns: int | None = None
    """When it became final, or was closed to forecasts before, as the provider says it, in nanoseconds since the
    epoch. What was forecast from then on does not count."""
    later: tuple[ProviderAnswer, ...] = ()
    """Of a figure that is restated: its later prints that are known, in their order; they decide nothing."""


@runtime_checkable
class ShowsTogether(Protocol):
    """A provider that can look at many markets at once, which is asked for no reference alone then."""

    def references(
        self, questions: Sequence[Question], now_ns: int
    ) -> Mapping[str, Mapping[str, Any] | OpenFinGymError | None]:
        """What :meth:`Provider.reference` says of each, by their ids; an error where it cannot be asked."""


class Provider(Protocol):
    """A source of truth. Its methods block, and are called in threads; several at once."""

    @property
    def name(self) -> str:
        """Its name in :data:`openfingym.questions.providers.PROVIDERS`."""

    @property
    def simulated(self) -> bool:
        """Whether its truths are made up, which is said wherever they are shown."""

    def check(self, question: Question) -> None:
        """Return if it can ever resolve this question; without asking anybody.

        Raises:
            UsageError: the query is not one of this provider's, or does not fit the question's form.
        """

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        """What the market shows at a moment: ``price``, ``probability`` or ``probabilities``, with ``at_ns`` of the
        market and ``source``; None where it shows nothing. Where there is no market it may be ``last``, the last value
        of a number, or ``base_rate``, how often the like of an event happens. It is recorded beside each forecast. Of
        a market whose outcome may be known already it is ``closed``, true, instead, and no forecast is taken.

        Raises:
            OpenFinGymError: it cannot be asked.
        """

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """What it says of questions whose evaluation time has passed, by their ids; an error where it could not be
        asked, which is tried again.
        """

    def close(self) -> None:
        """Let go of its connections."""
