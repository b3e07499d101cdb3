"""What the kinds ``curves`` and ``rows`` share: one bundled dataset that is simulated by month, or the author's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from openfingym.errors import DataError
from openfingym.kinds.kind import Kind
from openfingym.kinds.panels import panel_key
from openfingym.kinds.real_forms import required_form

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.kinds.material import Fold
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import DataKind, Task
    from openfingym.task.contracts import Contract


class MonthsKind(Kind):
    """A kind with one bundled dataset of simulated months, or with the author's data.

    Many series have a row in each month, and their errors go together; so the rows of a month are resampled together.
    """

    dataset: ClassVar[str]
    """Name of the bundled dataset."""
    dataset_sha256: ClassVar[str]
    """Hex SHA-256 of the data that its simulator makes."""

    def require_known(self, task: Task) -> None:
        """Refuse a task on another bundled dataset, or on real data that are not known.

        Raises:
            TaskError: real data is asked for, and none is known.
            DataError: there is no bundled dataset of the name that the task states.
        """
        if task.real:
            required_form(task)
        if task.spec.dataset.file is None and task.spec.dataset.name != self.dataset:
            raise DataError(f"no set of {self.name} {task.spec.dataset.name!r}; known: {self.dataset}")

    def data_kind(self, task: Task) -> DataKind:
        """What the author states of their own data; ``simulated`` for the bundled dataset."""
        self.require_known(task)
        return task.spec.dataset.kind or "simulated"

    def source_key(self, task: Task) -> str:
        """The digest of the author's file, or of what the simulator makes."""
        self.require_known(task)
        return panel_key(task) if is_own(task) else self.dataset_sha256

    def renewable(self, task: Task) -> bool:
        """Whether the data is the bundled dataset, which is simulated."""
        return not task.real and not is_own(task)

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """A bootstrap of blocks of months, in which the rows of a month stay together."""
        from openfingym.kinds.resampled import count_of_periods
        from openfingym.metrics.resampling import block_bootstrap

        return block_bootstrap(count_of_periods(fold), fold.truth.seed)

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold and the submission restricted to the rows of the drawn months."""
        from openfingym.kinds.resampled import taken_by_period

        return taken_by_period(fold, values, units)


def is_own(task: Task) -> bool:
    """Whether the task's data is a file of its author's."""
    return task.spec.dataset.file is not None and not task.real
