"""Proving a series: each of its rounds is generated again without what became known after it was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from openfingym.errors import UsageError
from openfingym.questions.question import Question
from openfingym.rounds.generator import Round, round_name

if TYPE_CHECKING:
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import LedgerClient
    from openfingym.suites.findeepforecast.generation.proving import WeekProof


@runtime_checkable
class Provable(Protocol):
    """A generator whose rounds can be generated again from what was known."""

    def prove(self, one: Round, options: Any, asked: Sequence[Question]) -> WeekProof:
        """Generate a round again without what became known after it was generated, and compare.

        Args:
            one: the round as it was: with the time at which its questions were made, and what was asked before it.
            options: options of the source that asked, as the definition of the series states them.
            asked: its questions of this source, in their order, as the ledger has them; at least one.
        """


def prove_generation(book: Book, ledger: LedgerClient, weeks: int | None = None) -> Iterator[tuple[str, WeekProof]]:
    """Prove the rounds of a series that were asked, one after another, with the name of each source.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        weeks: how many rounds, from the first on; None for all.

    Raises:
        UsageError: no source of the series can be proved, since its truths come from no vault.
        StoreError: a copy of a vault cannot be written.
    """
    series = book.series
    sources = {name: one for name, one in series.asked.items() if isinstance(one.generator, Provable)}
    if not sources:
        raise UsageError(f"{series.name}: none of its sources generates from a vault, so that nothing can be proved")
    now_ns = ledger.clock(series.clock_name)
    earlier: dict[str, list[Question]] = {name: [] for name in sources}
    rounds = series.rounds(book.since_ns, -1 if now_ns is None else now_ns)
    for times in list(rounds)[:weeks]:
        asked = [one.question for one in ledger.questions(round_name(series.name, times.week))]
        for name, source in sources.items():
            prefix = f"{round_name(series.name, times.week)}/{name}/"
            own = [one for one in asked if one.id.startswith(prefix)]
            if own:
                before = tuple(earlier[name])
                one = Round(series, name, times, own[0].generated_ns, _nothing, _known(before))
                assert isinstance(source.generator, Provable)
                yield name, source.generator.prove(one, source.options, own)
            earlier[name] += own


def _known(questions: tuple[Question, ...]) -> Callable[[], tuple[Question, ...]]:
    return lambda: questions


def _nothing(question: Question) -> dict[str, Any] | None:  # noqa: ARG001
    """No market shows anything of a round that is proved."""
    return None
