"""Generators: what makes the questions of a round.

A generator is an object with the two members of :class:`Generator`. The library's own are modules of
:mod:`openfingym.rounds.generators`; other packages bring theirs by an entry point of the group
``openfingym.question_generators``; and a definition may name a Python file that ends with ``GENERATOR = ...``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.plugins import Plugins
from openfingym.questions.question import DAY_NS, Question
from openfingym.rounds.schedule import RoundTimes
from openfingym.task.contracts import Section

if TYPE_CHECKING:
    from openfingym.rounds.series import Series

ENTRY_POINT_GROUP = "openfingym.question_generators"
OWN = ("prices", "releases", "simulated")
"""Generators of the library, by the names of their modules in ``openfingym.rounds.generators``."""
_PLUGINS = Plugins(
    "generator", ENTRY_POINT_GROUP, {name: f"openfingym.rounds.generators.{name}:GENERATOR" for name in OWN}
)


class Options(Section):
    """The options that every source has; a generator with options of its own has a subclass."""

    name: str = ""
    """Name of the source among those of its series; empty for the name of the generator."""
    category: str
    """What the questions are about, such as ``macro``; reports compare scores by it."""
    market: str
    """The economy or venue that the questions are about; reports compare scores by it."""

    @property
    def is_simulated(self) -> bool:
        """Whether the truths of its questions are made up."""
        return False

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks by which its questions may be asked, out of ``real``, ``simulated`` and ``replayed``; the last is
        only for questions whose truths are of a recorded past.
        """
        # What a real clock would say of made-up truths could be taken for a real forecast.
        return frozenset({"simulated"} if self.is_simulated else {"real", "simulated"})


O_contra = TypeVar("O_contra", bound=Options, contravariant=True)


def _ignored(said: Mapping[str, Any]) -> None:
    """Ignore what a generator says."""


@dataclass(frozen=True)
class Round:
    """A round that is being generated, as a generator sees it."""

    series: Series
    """The series of the round."""
    source: str
    """Name of the source that is to make questions."""
    times: RoundTimes
    """The moments of the round."""
    now_ns: int
    """The time on the clock of the series, in nanoseconds since the epoch, at which the questions are made (t_g): from
    ``times.generated_ns`` on, and before ``times.deadline_ns``."""
    shown: Callable[[Question], Mapping[str, Any] | None]
    """What the market shows about a question at present, as :meth:`openfingym.questions.Provider.reference` gives it.
    The verifier is asked, since it may be the only one that knows."""
    earlier: Callable[[], Sequence[Question]] = tuple
    """The questions that this source asked in earlier rounds; the ledger is asked for them at each call."""
    say: Callable[[Mapping[str, Any]], None] = _ignored
    """Records, as JSON, what the operator should know of how the questions came about. Under ``short`` it may have how
    many questions are missing, by what they are about, which the operator is told at once."""

    @property
    def name(self) -> str:
        """Name of the round in the ledger, such as ``weekly/2026-W48``."""
        return round_name(self.series.name, self.times.week)

    def question(self, key: str, *, settled_ns: int, **content: Any) -> Question:
        """Make a question of this round.

        Args:
            key: name of the question within its source and round, of letters, digits and ``._:+-``.
            settled_ns: the moment from which on there is a truth, in nanoseconds since the epoch; the question is
                resolved at the next resolution of the schedule.
            content: the other fields of :class:`~openfingym.questions.Question`.

        Raises:
            UsageError: the fields contradict each other.
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
        """When a question is resolved (t_e) that has a truth from ``settled_ns`` on, in nanoseconds since the epoch."""
        return self.series.schedule.evaluation(self.series.zone, self.times.deadline_ns, settled_ns)

    def after(self, days: int) -> int:
        """The moment so many days after the generation, in nanoseconds since the epoch.

        A day has 24 hours, and the generation is that of the schedule, however late the questions are made.
        """
        return self.times.generated_ns + days * DAY_NS


@runtime_checkable
class Generator(Protocol[O_contra]):
    """What makes the questions of a round."""

    @property
    def options(self) -> type[Options]:
        """Class of the options that a source with this generator may have."""

    def make(self, one: Round, options: O_contra) -> Sequence[Question]:
        """Make the questions of a round, with :meth:`Round.question`.

        Args:
            one: the round that is being generated.
            options: the options of the source, as the definition of the series states them.

        Returns:
            The questions; none if there is nothing to ask this week.

        Raises:
            OpenFinGymError: a service that the generator needs cannot be reached; it is asked again until the deadline.
        """


def round_name(series: str, week: str) -> str:
    """Name of a round in the ledger, such as ``weekly/2026-W48``.

    Args:
        series: name of the series.
        week: ISO week of the round; empty for what the names of all rounds begin with.
    """
    return f"{series}/{week}"


def find_generator(name: str, where: str) -> Generator[Any]:
    """Load a generator by its name or its file.

    Args:
        name: name of the generator, or path of a Python file that ends with ``GENERATOR = ...``.
        where: the source that names it, for error messages.

    Raises:
        UsageError: there is no generator of this name, it cannot be loaded, or it is not a generator.
    """
    if name.endswith(".py"):
        return _of_file(Path(name), where)
    try:
        generator = _PLUGINS.load(name)
    except UsageError as error:
        hint = "" if name in _PLUGINS.names() else "; or give the path of a Python file that ends with GENERATOR = ..."
        raise UsageError(f"{where}: {error}{hint}") from error
    return _required(generator, f"{where}: the generator {name!r}")


def generate(one: Round, generator: Generator[Any], options: Options) -> list[Question]:
    """Have a generator make the questions of a round, and check them.

    Args:
        one: the round that is being generated.
        generator: the generator of the source.
        options: the options of the source.

    Raises:
        OpenFinGymError: a service that the generator needs cannot be reached, or it returns something other than
            questions of this round.
    """
    try:
        questions = list(generator.make(one, options))
    except OpenFinGymError:
        raise
    # A generator may be a stranger's code, which may raise anything.
    except Exception as error:
        raise UsageError(f"the generator of {one.source!r} failed: {type(error).__name__}: {error}") from error
    # The times must be those of the round: a later deadline would let its forecasts know more than others'.
    prefix = f"{one.name}/{one.source}/"
    for question in questions:
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
    ids = [question.id for question in questions]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise UsageError(f"the generator of {one.source!r} gave {twice[0]} twice; give each question a key of its own")
    return questions


def _of_file(path: Path, where: str) -> Generator[Any]:
    """Load the generator of a Python file."""
    specification = importlib.util.spec_from_file_location(f"openfingym_generator_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise UsageError(f"{where}: {path} is no Python file")
    module = importlib.util.module_from_spec(specification)
    # The file is the operator's own, and may raise anything.
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{where}: {path} cannot be loaded ({type(error).__name__}: {error})") from error
    return _required(getattr(module, "GENERATOR", None), f"{where}: GENERATOR of {path}")


def _required(loaded: object, where: str) -> Generator[Any]:
    """What was loaded, if it is a generator."""
    # A protocol checks that members exist, not what they are.
    options = getattr(loaded, "options", None)
    if not isinstance(loaded, Generator) or not (isinstance(options, type) and issubclass(options, Options)):
        raise UsageError(
            f"{where} is {type(loaded).__name__}, expected an object with `options`, a subclass of "
            "openfingym.rounds.Options, and `make(round, options)`"
        )
    return loaded
