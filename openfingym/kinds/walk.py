"""Walking forward: hidden items that have a time are shown in its order, each after all before it were answered.

A *window* is everything hidden that is due at one time: one window of a panel, the windows of all pooled series that
end together, the rows of one month. A fold is walked through window by window; what was answered stays, and the next
window may show what came of it::

    window 0   inputs ........ | targets |
    window 1           inputs ........ | targets |       shows the targets of window 0
    window 2                   inputs ........ | targets |

So hidden windows may overlap, and no answer can know what was shown after it. What a window shows are the hidden arrays
whose names begin with ``test_``, in which items are in the order of a submission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import DataError, SubmissionError, TaskError
from openfingym.task.episodes import MAX_ACTION_BYTES, MAX_KEPT_BYTES, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array, Material
    from openfingym.task import Task
    from openfingym.task.episodes import FoldName

NUMBER_BYTES = 25
"""Most bytes of a float64 and a comma as JSON."""
SHOWN = "test_"
"""Beginning of the names of the hidden arrays that a window shows a part of."""


@dataclass(frozen=True, eq=False)
class Walk:
    """The windows of a task's hidden items, those of the public fold first."""

    starts: NDArray[np.int64]
    """int64[windows + 1]: the first item of each window, and after them the number of items."""
    n_public: int
    """Windows of the public fold."""

    @classmethod
    def of(cls, times: Array, counts: tuple[int, int]) -> Walk:
        """Windows of items that are due at one time.

        Args:
            times: the time at which each hidden item is due, [items]; dates, or numbers that stand for them.
            counts: hidden items of the public and of the private fold.

        Raises:
            DataError: items of a fold are not in the order of time.
        """
        public = counts[0]
        if len(times) != sum(counts):
            raise DataError(f"{len(times)} times of hidden items were given, expected {sum(counts)}")
        later = times[1:] > times[:-1]
        # The first private item begins a window whatever its time.
        wrong = np.flatnonzero(times[1:] < times[:-1])
        wrong = wrong[wrong != public - 1]
        if len(wrong):
            at = int(wrong[0]) + 1
            raise DataError(
                f"hidden item {at} is due at {times[at]}, before the one in front of it ({times[at - 1]}); what is "
                "shown in the order of time must be in its order"
            )
        begins = np.concatenate([[True], later])
        begins[public] = True
        starts = np.flatnonzero(begins).astype(np.int64)
        return cls(np.append(starts, len(times)), int((starts < public).sum()))

    @property
    def n_private(self) -> int:
        """Windows of the private fold."""
        return len(self.starts) - 1 - self.n_public

    def windows(self, fold: FoldName) -> range:
        """The numbers of a fold's windows, counted over both folds."""
        return range(self.n_public) if fold == "public" else range(self.n_public, len(self.starts) - 1)

    def items(self, window: int) -> slice:
        """The hidden items of a window."""
        return slice(int(self.starts[window]), int(self.starts[window + 1]))

    def items_of(self, fold: FoldName) -> slice:
        """The hidden items of a fold."""
        windows = self.windows(fold)
        return slice(int(self.starts[windows.start]), int(self.starts[windows.stop]))


def hidden_until_due(material: Material) -> Material:
    """The material of a task that is walked through: what its windows show is hidden."""
    shown = {name: np.asarray(array) for name, array in material.public.items() if name.startswith(SHOWN)}
    public = {name: array for name, array in material.public.items() if name not in shown}
    return replace(material, public=public, hidden={**material.hidden, **shown})


def require_sendable(task: Task, material: Material) -> None:
    """Check that the answers of a walk with one item a window fit into requests, and all of a rollout into the ledger.

    Raises:
        TaskError: they do not.
    """
    window = int(np.prod(material.shape[1:])) * NUMBER_BYTES
    whole = (task.spec.verification.budget * material.n_public + material.n_private) * window
    for size, most, what in (
        (window, MAX_ACTION_BYTES, "an answer for one window"),
        (whole, MAX_KEPT_BYTES, "all answers of a rollout, practice included,"),
    ):
        if size > most:
            raise TaskError(
                f"{what} may take {size:,} bytes, and at most {most:,} are taken; ask for fewer futures or rows, or "
                "let it be practised less often (verification.budget)",
                path=task.config_path,
                key="contract",
            )


def walk_usage(material: Material, items: str = "1") -> str:
    """The lines of Python in an instruction that answer hidden windows.

    Args:
        material: the arrays of the task and the facts about them.
        items: number of items of a window, or what stands for it.
    """
    known = (items, *map(str, material.hidden[f"{SHOWN}inputs"].shape[1:]))
    wanted = (items, *map(str, material.shape[1:]))
    first, last = (f"({', '.join(shape)}{',' * (len(shape) == 1)})" for shape in (known, wanted))
    return f"""for window in interface.iter_test():  # iter_test(practice=True) practises
    window.predict(model(window.inputs))  # float64 {first} -> {last}"""


@dataclass(frozen=True)
class Form:
    """What a prediction must be."""

    shape: tuple[int, ...]
    """Shape of a submission, whose first axis is hidden items."""
    axes: tuple[str, ...]
    """What each axis of a submission is."""
    low: float
    """Smallest admissible value."""
    high: float
    """Largest admissible value."""
    check: Callable[[NDArray[np.float64]], None]
    """Refuses, by a SubmissionError, what shape and range do not show."""


class WalkEpisode:
    """One pass through the windows of a fold; an :class:`~openfingym.task.episodes.SteppedEpisode`."""

    def __init__(self, walk: Walk, form: Form, hidden: Mapping[str, Array], fold: FoldName) -> None:
        """Begin at the first window.

        Args:
            walk: the windows of the task.
            form: what a prediction must be.
            hidden: the hidden arrays of the task, by name.
            fold: the fold that is walked through.
        """
        self._walk = walk
        self._form = form
        self._shown = {name.removeprefix(SHOWN): array for name, array in hidden.items() if name.startswith(SHOWN)}
        self._windows = walk.windows(fold)
        self._items = walk.items_of(fold)
        self._done = 0
        self._answers = np.full((self._items.stop - self._items.start, *form.shape[1:]), np.nan)

    def start(self) -> Step:
        """The first window."""
        return self._step()

    def step(self, action: object) -> Step:
        """Take the predictions of the window that was shown last, and show the next one.

        Args:
            action: ``{"predictions": nested lists}``, of the form of a submission with the window's items alone.

        Raises:
            SubmissionError: the action is not of this form, a number is outside the contract's range, or the kind of
                task refuses the answer.
        """
        items = self._walk.items(self._windows[self._done])
        values = read_predictions(action, items.stop - items.start, self._form)
        self._form.check(values)
        first = items.start - self._items.start
        self._answers[first : first + len(values)] = values
        self._done += 1
        return self._step()

    def outcome(self) -> NDArray[np.float64]:
        """The predictions for the items of the fold; NaN where none were made yet."""
        return self._answers.copy()

    def _step(self) -> Step:
        left = len(self._windows) - self._done
        if left == 0:
            return Step(observation={}, truncated=True, info={"windows_left": 0})
        items = self._walk.items(self._windows[self._done])
        return Step(
            observation={name: plain(array[items]) for name, array in self._shown.items()},
            info={"windows_left": left},
        )


def plain(array: Array) -> Any:
    """An array as JSON values: nested lists, with dates as ISO 8601 texts."""
    return np.datetime_as_string(array).tolist() if array.dtype.kind == "M" else array.tolist()


def read_predictions(action: object, items: int, form: Form) -> NDArray[np.float64]:
    """The predictions that an action holds for a window.

    Args:
        action: the action as JSON values.
        items: number of items of the window.
        form: what a prediction must be.

    Raises:
        SubmissionError: ``malformed-action``: it says what was found and what is expected.
    """
    shape = (items, *form.shape[1:])
    if not isinstance(action, dict) or set(action) != {"predictions"}:
        found = f"the keys {sorted(map(str, action))}" if isinstance(action, dict) else type(action).__name__
        raise _malformed(f'expected {{"predictions": nested lists of shape {list(shape)}}}, found {found}')
    values = _numbers(action["predictions"], shape, form.axes)
    inside = (values >= form.low) & (values <= form.high)
    if not inside.all():
        where = tuple(int(i) for i in np.argwhere(~inside)[0])
        raise _malformed(
            f"predictions{list(where)} is {values[where]:g}; expected a number in [{form.low:g}, {form.high:g}]"
        )
    return values


def _numbers(nested: object, shape: tuple[int, ...], axes: Sequence[str]) -> NDArray[np.float64]:
    try:
        # As objects first: NumPy would read texts, booleans and null as numbers without a word.
        cells = np.array(nested, dtype=object)
    except ValueError:
        cells = np.array([[]], dtype=object)
    if cells.shape != shape:
        found = f"shape {list(cells.shape[:8])}" if cells.size and list not in map(type, cells.flat) else "ragged lists"
        raise _malformed(
            f"predictions have {found}; expected {list(shape)}: {', '.join(axes)}, for what this window asks alone"
        )
    # The exact type, since a boolean is an int by inheritance.
    kinds = set(map(type, cells.ravel().tolist()))
    if not kinds <= {float, int}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds - {float, int}))
        raise _malformed(f"the predictions hold {names}; expected numbers alone")
    try:
        return cells.astype(np.float64)
    except OverflowError:
        raise _malformed("an integer among the predictions is beyond the range of float64") from None


def _malformed(text: str) -> SubmissionError:
    return SubmissionError(text, problem="malformed-action")
