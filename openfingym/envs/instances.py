"""The instances that an environment plays, one after the other, and what a caller sees of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from openfingym import store
from openfingym.errors import UsageError
from openfingym.instances import COUNT, InstanceSource, build_instance, place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.instances import InstanceSplit
    from openfingym.packages.package import BuiltPackage, PackageManifest
    from openfingym.results import SplitName


@dataclass(frozen=True, eq=False)
class Seen:
    """What a caller sees of a package, in memory."""

    manifest: PackageManifest
    contract: Mapping[str, Any]
    instruction: str
    observation: Mapping[str, NDArray[np.generic]]
    """Public arrays that hold numbers, by name."""
    texts: Mapping[str, NDArray[np.generic]]
    """Public arrays that hold texts, by name."""

    @classmethod
    def of(cls, package: BuiltPackage, *, copied: bool = False) -> Self:
        """Read the public half of a package; ``copied`` where its files will go."""
        made = np.array if copied else np.asarray
        arrays = {name: made(package.array(name)) for name in package.contract["arrays"]}
        return cls(
            package.manifest,
            package.contract,
            package.read_instruction(),
            {name: array for name, array in arrays.items() if array.dtype.kind not in "MU"},
            {name: array for name, array in arrays.items() if array.dtype.kind == "U"},
        )


class InstanceRound:
    """The instances of one split, in order of their numbers, and from the last to the first again."""

    def __init__(self, package: BuiltPackage, split: SplitName, only: int | None) -> None:
        """Begin with the first of them, or keep to one.

        Raises:
            UsageError: there is no such split or instance.
        """
        place = place_of(split, 0 if only is None else only)
        assert place is not None, "of the split test there is no round"
        self.split: InstanceSplit = place[0]
        self.index = place[1]
        """The instance at hand."""
        self._source = InstanceSource.of(package)
        self._only = only
        self._seen: Seen | None = None
        self._begun = False

    def first(self) -> Seen:
        """The instance at hand, before any episode."""
        return self._built(self.index)

    def next(self, seed: int | None, index: object) -> Seen:
        """The instance of the next episode.

        Args:
            seed: where to begin, which the next ones follow; None to go on.
            index: which one, whatever came before; None for the next.

        Raises:
            UsageError: there is no such instance, or this round keeps to another.
        """
        if index is not None:
            if isinstance(index, bool) or not isinstance(index, int | np.integer):
                raise UsageError(f"index is the number of an instance, found {index!r}")
            if self._only is not None and index != self._only:
                raise UsageError(f"this environment keeps to instance {self._only}; make it without index")
            wanted = int(index)
        elif self._only is not None:
            wanted = self._only
        elif seed is not None:
            # Seeds that follow one another, as those of vector environments, begin far apart.
            wanted = int(np.random.SeedSequence(seed).generate_state(1)[0]) % COUNT
        else:
            wanted = (self.index + 1) % COUNT if self._begun else self.index
        found = self._built(wanted)
        self._begun = True
        return found

    def _built(self, index: int) -> Seen:
        if self._seen is None or index != self.index:
            place_of(self.split, index)
            with store.staging() as folder:
                self._seen = Seen.of(build_instance(self._source, self.split, index, folder), copied=True)
            self.index = index
        return self._seen
