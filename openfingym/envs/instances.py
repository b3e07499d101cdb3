"""The instances that an environment plays, one after the other, and what a caller sees of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from openfingym import store
from openfingym.errors import UsageError
from openfingym.instances import INSTANCE_COUNT, InstanceSource, build_instance, place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.instances import InstanceSplit
    from openfingym.packages.package import BuiltPackage, PackageManifest
    from openfingym.results import SplitName


@dataclass(frozen=True, eq=False)
class PublicHalf:
    """The public half of a package, in memory."""

    manifest: PackageManifest
    contract: Mapping[str, Any]
    """The contract as JSON values."""
    instruction: str
    """The instruction to agents, in Markdown."""
    arrays: Mapping[str, NDArray[np.generic]]
    """Public arrays by name."""

    @classmethod
    def of(cls, package: BuiltPackage, *, copied: bool = False) -> Self:
        """Read the public half of a package.

        Args:
            package: the built package.
            copied: whether to copy its arrays, which are otherwise mapped from its files: where these will be deleted.
        """
        loaded = np.array if copied else np.asarray
        arrays = {name: loaded(package.array(name)) for name in package.contract["arrays"]}
        return cls(package.manifest, package.contract, package.read_instruction(), arrays)

    @property
    def observation(self) -> dict[str, NDArray[np.generic]]:
        """Public arrays that hold numbers, by name."""
        return {name: array for name, array in self.arrays.items() if array.dtype.kind not in "MU"}

    @property
    def texts(self) -> dict[str, NDArray[np.generic]]:
        """Public arrays that hold texts, by name."""
        return {name: array for name, array in self.arrays.items() if array.dtype.kind == "U"}


class InstanceCycle:
    """The instances of one split, in order of their numbers; after the last comes the first again."""

    def __init__(self, package: BuiltPackage, split: SplitName, only: int | None) -> None:
        """Begin with the first instance.

        Args:
            package: built package of the task that instances are cut from.
            split: ``train`` or ``validation``.
            only: number of the one instance to keep to; None for all of them.

        Raises:
            UsageError: there is no such split or instance.
        """
        place = place_of(split, 0 if only is None else only)
        assert place is not None, "the split 'test' has no instances"
        self.split: InstanceSplit = place[0]
        self.index = place[1]
        """Number of the instance at hand."""
        self._source = InstanceSource.of(package)
        self._only = only
        self._public: PublicHalf | None = None
        self._begun = False

    def first(self) -> PublicHalf:
        """The instance at hand before any episode, from which spaces and instruction are taken."""
        return self._built(self.index)

    def next(self, seed: int | None, index: object) -> PublicHalf:
        """The instance of the next episode.

        Args:
            seed: seed from which an instance is chosen to go on from; None to go on from the one at hand.
            index: number of the instance to take, whatever came before; None for the one that is due.

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
            wanted = int(np.random.SeedSequence(seed).generate_state(1)[0]) % INSTANCE_COUNT
        else:
            wanted = (self.index + 1) % INSTANCE_COUNT if self._begun else self.index
        public = self._built(wanted)
        # Only now: a number that is refused leaves the cycle where it was.
        self._begun = True
        return public

    def _built(self, index: int) -> PublicHalf:
        if self._public is None or index != self.index:
            place_of(self.split, index)  # refuses a number that no instance has
            # The folder is gone after this block, so arrays must not be mapped from it.
            with store.staging() as folder:
                package = build_instance(self._source, self.split, index, folder)
                self._public = PublicHalf.of(package, copied=True)
            self.index = index
        return self._public
