"""Generators: what makes the questions of a round.

A generator is an object with :class:`Generator`'s two members. The library's own are files of
:mod:`openfingym.rounds.generators`; a distribution brings one by an entry point of the group
``openfingym.question_generators``, and a Python file that ends with ``GENERATOR = ...`` is one too.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.plugins import entry_points
from openfingym.questions.question import DAY_NS, Question
from openfingym.rounds.schedule import RoundTimes
from openfingym.task.contracts import Section

if TYPE_CHECKING:
    from openfingym.rounds.series import Series

ENTRY_POINT_GROUP = "openfingym.question_generators"
OWN = ("prices", "releases", "simulated", "findeepforecast")
"""Generators of the library, by the names of their modules in ``openfingym.rounds.generators``."""


class Options(Section):
    """What every source may say, beside its generator; a generator's own options are a subclass."""

    name: str = ""
    """Name of the source among those of its series; by default the generator's."""
    category: str
    """What its questions are about, by which reports tell them apart."""
    market: str
    """Which economy or venue they are about, by which reports tell them apart."""

    @property
    def is_simulated(self) -> bool:
        """Whether the truths of its questions are made up."""
        return False

    @property
    def clocks(self) -> frozenset[str]:
        """Whose time its questions may be asked by: ``real``, ``simulated`` or ``replayed``, which is for those alone
        whose truths are of a recorded past.
        """
        return frozenset({"simulated"} if self.is_simulated else {"real", "simulated"})


O_contra = TypeVar("O_contra", bound=Options, contravariant=True)


def _unheard(said: Mapping[str, Any]) -> None:
    """Where nobody listens."""


@dataclass(frozen=True)
class Round:
    """A round that is being generated: what a generator is given."""

    series: Series
    source: str
    """Name of the source that is being asked."""
    times: RoundTimes
    now_ns: int
    """The series' time now, at which its questions are made (t_g): in ``[times.generated_ns, times.deadline_ns)``."""
    shown: Callable[[Question], Mapping[str, Any] | None]
    """What the market shows of a question now, as :meth:`openfingym.questions.Provider.reference` gives it; asked of
    the verifier, since it alone may know."""
    earlier: Callable[[], Sequence[Question]] = tuple
    """What this source asked in earlier rounds, as the ledger has it; asked for when it is wanted."""
    say: Callable[[Mapping[str, Any]], None] = _unheard
    """Takes what the operator should know of how the questions came about, as JSON; under ``short`` what is missing,
    as numbers by what they are numbers of, which is told of at once."""

    @property
    def name(self) -> str:
        """Its name in the ledger, such as ``weekly/2026-W48``."""
        return round_name(self.series.name, self.times.week)

    def question(self, key: str, *, settled_ns: int, **content: Any) -> Question:
        """A question of this round.

        Args:
            key: what names it within its source and round: letters, digits and ``._:+-``.
            settled_ns: when its truth is there; it is resolved at the next resolution of the schedule.
            content: the other fields of :class:`~openfingym.questions.Question`.

        Raises:
            UsageError: it contradicts itself.
        """
        return Question(
            id=f"{self.name}/{self.source}/{key}",
            generated_ns=self.now_ns,
            deadline_ns=self.times.deadline_ns,
            evaluation_ns=self.evaluation_ns(settled_ns),
            clock=self.series.clock_name,
            round=self.name,
            **content,
        )

    def evaluation_ns(self, settled_ns: int) -> int:
        """When a question is resolved whose truth is there at ``settled_ns`` (t_e)."""
        return self.series.schedule.evaluation(self.series.zone, self.times.deadline_ns, settled_ns)

    def after(self, days: int) -> int:
        """The moment so many days of 24 hours after the generation that the schedule says."""
        return self.times.generated_ns + days * DAY_NS


@runtime_checkable
class Generator(Protocol[O_contra]):
    """What makes the questions of a round."""

    @property
    def options(self) -> type[Options]:
        """Class of the options that a source with this generator may have."""

    def make(self, one: Round, options: O_contra) -> Sequence[Question]:
        """The questions of a round, made with :meth:`Round.question`; none where there is nothing to ask this week.

        Raises:
            OpenFinGymError: a service that it needs cannot be asked, which is tried again until the deadline.
        """


def round_name(series: str, week: str) -> str:
    """Name of a round in the ledger."""
    return f"{series}/{week}"


def find_generator(name: str, where: str) -> Generator[Any]:
    """A generator by its name or its file.

    Args:
        name: name of one, or path of a Python file.
        where: which source wants it, for error messages.

    Raises:
        UsageError: there is none of that name, or what is there is none.
    """
    if name.endswith(".py"):
        return _of_file(Path(name), where)
    installed = {entry.name: entry for entry in entry_points(ENTRY_POINT_GROUP)}
    if name in OWN:
        entry = EntryPoint(name, f"openfingym.rounds.generators.{name}:GENERATOR", ENTRY_POINT_GROUP)
    elif name in installed:
        entry = installed[name]
    else:
        known = ", ".join((*OWN, *sorted(installed)))
        raise UsageError(
            f"{where}: there is no generator {name!r}; known: {known}; or give the path of a Python file that ends "
            "with GENERATOR = ..."
        )
    try:
        found = entry.load()
    except Exception as error:  # whatever a stranger's module may raise
        raise UsageError(f"{where}: the generator {name!r} cannot be loaded from {entry.value!r} ({error})") from error
    return _required(found, f"{where}: {entry.value}")


def generate(one: Round, generator: Generator[Any], options: Options) -> list[Question]:
    """Ask a generator, and check what it gives.

    Raises:
        OpenFinGymError: a service cannot be asked, or what it gives are no questions of this round.
    """
    try:
        found = list(generator.make(one, options))
    except OpenFinGymError:
        raise
    except Exception as error:  # a stranger's code
        raise UsageError(f"the generator of {one.source!r} failed: {type(error).__name__}: {error}") from error
    prefix = f"{one.name}/{one.source}/"
    for question in found:
        if (
            not isinstance(question, Question)
            or not question.id.startswith(prefix)
            or (question.round, question.clock) != (one.name, one.series.clock_name)
            or (question.generated_ns, question.deadline_ns) != (one.now_ns, one.times.deadline_ns)
        ):
            raise UsageError(
                f"the generator of {one.source!r} gave {str(getattr(question, 'id', question))[:80]!r}, which is no "
                f"question of {one.name}; make each with Round.question"
            )
    ids = [question.id for question in found]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise UsageError(f"the generator of {one.source!r} gave {twice[0]} twice; give each question a key of its own")
    return found


def _of_file(path: Path, where: str) -> Generator[Any]:
    specification = importlib.util.spec_from_file_location(f"openfingym_generator_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise UsageError(f"{where}: {path} is no Python file")
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except Exception as error:  # the operator's own file, with whatever is in it
        raise UsageError(f"{where}: {path} cannot be loaded ({type(error).__name__}: {error})") from error
    return _required(getattr(module, "GENERATOR", None), f"{where}: GENERATOR of {path}")


def _required(found: object, where: str) -> Generator[Any]:
    options = getattr(found, "options", None)
    if not isinstance(found, Generator) or not (isinstance(options, type) and issubclass(options, Options)):
        raise UsageError(
            f"{where} is {type(found).__name__}, expected an object with `options`, a subclass of "
            "openfingym.rounds.Options, and `make(round, options)`"
        )
    return found
