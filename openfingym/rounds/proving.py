"""Proving that the questions of a series know nothing of the future: each round is generated again on a copy of its
vault that ends when the round was asked, and must come out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from openfingym.errors import UsageError
from openfingym.questions.question import Question
from openfingym.rounds.generator import Round, round_name

if TYPE_CHECKING:
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import LedgerClient


class RoundProof(Protocol):
    """The result of generating a round again without what became known after it was generated."""

    @property
    def week(self) -> str:
        """ISO week of the round."""

    @property
    def questions(self) -> int:
        """How many questions were asked."""

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the questions that were asked."""

    @property
    def differences(self) -> Sequence[str]:
        """What differs, in words; empty if it is proved."""

    @property
    def proved(self) -> bool:
        """Whether the questions are the same."""

    def to_dict(self) -> dict[str, object]:
        """The proof as JSON."""


@runtime_checkable
class Provable(Protocol):
    """A generator whose rounds can be generated again from what was known at the time."""

    def prove(self, one: Round, options: Any, asked: Sequence[Question]) -> RoundProof:
        """Generate a round again without what became known after it was generated, and compare.

        Args:
            one: the round as it was: with the time at which its questions were made, and what was asked before it.
            options: options of the source that asked, as the definition of the series states them.
            asked: the questions that the source asked in the round, in their order in the ledger; at least one.
        """


def prove_generation(book: Book, ledger: LedgerClient, weeks: int | None = None) -> Iterator[tuple[str, RoundProof]]:
    """Prove the rounds of a series that were asked, in order.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        weeks: how many rounds to prove, from the first on; None for all.

    Yields:
        The name of a source, and the proof of one of its rounds.

    Raises:
        UsageError: no source of the series can be proved, since none generates its questions from a vault.
        StoreError: a copy of a vault cannot be written.
    """
    series = book.series
    sources = {name: source for name, source in series.asked.items() if isinstance(source.generator, Provable)}
    if not sources:
        raise UsageError(f"{series.name}: none of its sources generates from a vault, so that nothing can be proved")
    now_ns = ledger.clock(series.clock_name)
    # A generator avoids what it has asked before, so each round is proved with the questions of those before it.
    earlier: dict[str, list[Question]] = {name: [] for name in sources}
    rounds = series.rounds(book.since_ns, -1 if now_ns is None else now_ns)
    for times in list(rounds)[:weeks]:
        asked = [row.question for row in ledger.questions(round_name(series.name, times.week))]
        for name, source in sources.items():
            prefix = f"{round_name(series.name, times.week)}/{name}/"
            own = [question for question in asked if question.id.startswith(prefix)]
            if own:
                before = tuple(earlier[name])
                again = Round(series, name, times, own[0].generated_ns, _nothing, _known(before))
                assert isinstance(source.generator, Provable)
                yield name, source.generator.prove(again, source.options, own)
            earlier[name] += own


def _known(questions: tuple[Question, ...]) -> Callable[[], tuple[Question, ...]]:
    # A function of its own, since a lambda within the loop would see the questions of the last round.
    return lambda: questions


def _nothing(question: Question) -> dict[str, Any] | None:  # noqa: ARG001
    """What a market shows about a question of a round that is proved: nothing."""
    return None
