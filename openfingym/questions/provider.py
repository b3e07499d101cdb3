"""Providers, which know the truth of questions: what they are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from openfingym.errors import OpenFinGymError
    from openfingym.questions.question import Question

RECORDED = "recorded"
"""Name of the provider of truths that the verifier holds back until the question's clock has come to them."""
Truth = float | tuple[float, ...]
"""The truth of a question: for ``probability``, the payout in [0, 1] of the event; for ``probabilities`` and
``choice``, a payout for each outcome, which sum to 1; else a number in the question's unit."""


@dataclass(frozen=True)
class ProviderAnswer:
    """What a provider says about a question that is due."""

    status: Literal["resolved", "waiting", "void"]
    """``resolved``: there is a truth; ``waiting``: not final yet, whatever is shown; ``void``: there will be none."""
    truth: Truth | None = None
    """The truth of a question that is ``resolved``; else None."""
    reason: str = ""
    """Why the question waits or is void, in the provider's words where there are some, such as ``disputed``."""
    source: str = ""
    """Address that was asked, without keys."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """The part of the service's answer that decides, as JSON; at most 16 KB."""
    vintage: str = ""
    """Which print of a restated figure decided, such as the day of its release; else empty."""
    provider_ns: int | None = None
    """When the truth became final, or the market closed if that was before, by the provider's clock, in nanoseconds
    since the epoch. Forecasts from then on do not count."""
    later: tuple[ProviderAnswer, ...] = ()
    """Later prints of a restated figure that are known, in their order; they decide nothing."""


@runtime_checkable
class ShowsTogether(Protocol):
    """A provider that can look at many markets at once, and is asked for references in batches."""

    def references(
        self, questions: Sequence[Question], now_ns: int
    ) -> Mapping[str, Mapping[str, Any] | OpenFinGymError | None]:
        """The reference of each question by its id, as :meth:`Provider.reference` gives it, or the error it met."""


class Provider(Protocol):
    """A source of truth. Its methods block, and are called in threads; several at once."""

    @property
    def name(self) -> str:
        """Name of the provider in :data:`openfingym.questions.providers.PROVIDERS`."""

    @property
    def simulated(self) -> bool:
        """Whether the truths are simulated, which is stated wherever they are shown."""

    def check(self, question: Question) -> None:
        """Return if the provider can ever resolve this question; asks nobody.

        Raises:
            UsageError: the query is not one of this provider's, or does not fit the question's form.
        """

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        """What the market shows at a moment, which is recorded beside each forecast.

        Args:
            question: the question whose market is looked at.
            now_ns: the moment, in nanoseconds since the epoch, for providers that are not asked over a network.

        Returns:
            ``price``, ``probability`` or ``probabilities``, with ``at_ns``, the market's time, and ``source``; without
            a market, ``last``, the last value of a number, or ``base_rate``, how often such an event happens. For a
            market whose outcome may be known already, ``closed``, true: no forecast is taken. None where nothing is
            shown.

        Raises:
            OpenFinGymError: the market cannot be asked.
        """

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """Answers to questions whose evaluation time has passed, by the questions' ids.

        An error in place of an answer says that the provider could not be asked; it is asked again later.
        """

    def close(self) -> None:
        """Close the provider's connections."""
