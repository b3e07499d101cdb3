"""The abstract base class of kinds of task that are stepped through, episode by episode."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from openfingym.kinds.kind import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array, Reader
    from openfingym.suites.suite import Asking, SuiteTool
    from openfingym.task import Spec
    from openfingym.task.contracts import Contract
    from openfingym.task.episodes import Step, SteppedEpisode


class SequentialKind(Kind):
    """A kind whose hidden rows are shown one at a time, in episodes.

    A fold's rows of a submission are the outcomes of its episodes, so that ``n_public`` and ``n_private`` of a package
    count episodes. Axis 1 of a submission has at least as many entries as an episode has steps. The reader that is
    given to :meth:`~Kind.naive` and :meth:`~Kind.skillless` reads the hidden arrays as well.
    """

    interface: ClassVar[str] = "interface_steps.py"
    live: ClassVar[bool] = False
    """Whether the private episode can be a session on a live market; see :mod:`openfingym.kinds.live`."""
    has_twins: ClassVar[bool] = True
    """Whether :meth:`twin` can resample hidden data that no simulator makes."""
    slow_steps: ClassVar[bool] = False
    """Whether a step may take milliseconds, as a query does, so that the verifier takes it off its event loop."""

    @abstractmethod
    def episode(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> SteppedEpisode:
        """A new episode, before its first action.

        Args:
            spec: the specification of the task.
            read: reads a public array, given its name.
            hidden: the hidden arrays of the task, by name.
            number: number of the episode, from 0: those of the public fold first, then those of the private one, each
                in the order of time.
        """

    @abstractmethod
    def twin(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], seed: int) -> dict[str, Array]:
        """Hidden arrays of the same form, resampled from the training rows; for data that no simulator makes.

        Args:
            spec: the specification of the task.
            read: reads a public array, given its name.
            hidden: the hidden arrays of the task, by name.
            seed: seed of the resampling, not negative, of any size.
        """

    @abstractmethod
    def oracle_actions(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Iterable[object]:
        """The best action of each step of an episode, as JSON values; see :meth:`episode`."""

    @abstractmethod
    def steps(self, contract: Contract) -> int:
        """Number of actions that an episode takes."""

    def symbols(self, contract: Contract) -> tuple[str, ...]:
        """Names of the columns of ``bars`` in an observation; empty if observations have no bars."""
        return ()

    def lookups(self, contract: Contract) -> tuple[SuiteTool, ...] | None:
        """Tools for looking things up, if episodes are questions; None if they are not. A model can be offered them as
        tools of its own.
        """
        return None

    def asking(self, contract: Contract) -> Asking | None:
        """The suite that asks, if episodes are questions; None if they are not."""
        return None

    def question_row(
        self, contract: Contract, read: Reader, number: int, outcome: NDArray[np.float64], *, kept: bool = True
    ) -> Mapping[str, object]:
        """What a result says of a question beside the score, for breakdowns in reports: its ``id``, its ``tags`` and
        the ``state`` in which it ended; nothing of its truth. Of a question that nobody keeps, also what the agent was
        shown of it as data: ``as_of`` and ``query``.

        Args:
            contract: the contract of the task, whose episodes are questions.
            read: reads a public array, given its name.
            number: number of the episode, as in :meth:`episode`.
            outcome: outcome of the episode, which follows from the actions of its agent alone.
            kept: whether the question is in the package, so that its number and id are enough to find it again.
        """
        raise NotImplementedError(f"a {self.name} task asks no questions")

    def check_shown(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Sequence[Step], before: Step | None
    ) -> None:
        """Check that a played episode has shown hidden rows in the order of time, each at its own origin.

        Args:
            contract: the contract of the task.
            hidden: the hidden arrays of the task, by name.
            number: number of the episode, as in :meth:`episode`.
            shown: the steps of the episode, from its start on.
            before: the last step of the episode before it in the same fold; None for the first episode of a fold.

        Raises:
            TaskError: a row is shown too early or is skipped, or is not the one that its number says.
        """
        return

    @abstractmethod
    def later_changed(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Step
    ) -> Mapping[str, Array]:
        """The hidden arrays with other values in all rows that are later than what ``shown`` may depend on.

        Args:
            contract: the contract of the task.
            hidden: the hidden arrays of the task, by name.
            number: number of the episode, as in :meth:`episode`.
            shown: a step of the episode.
        """
