"""What a built task shows and hides; a verifier has the package, and not always the data that it was built from."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from openfingym.data import dataset_info
from openfingym.data.instruments import instrument
from openfingym.errors import OpenFinGymError
from openfingym.kinds.exposing import exposure_by_times, exposure_of, is_dated

if TYPE_CHECKING:
    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym.task.exposure import Exposure


def exposure_of_package(package: BuiltPackage, hidden: Mapping[str, Array], *, given: bool = False) -> Exposure | None:
    """What a built task shows and hides; None where that cannot be told.

    Args:
        package: the built package.
        hidden: its hidden arrays by name.
        given: whether to tell of its given tape, although rollouts may have data that are drawn anew.
    """
    task, contract, name = package.task, package.contract, package.task.spec.dataset.name
    own = "" if name else package.manifest.dataset_digest
    with contextlib.suppress(OpenFinGymError):
        stated = [name for name in contract["arrays"] if name.endswith("_times")]
        # Before anything is loaded: an author's data are not on the verifier's machine.
        if package.manifest.data_kind == "real" and is_dated(task) and "train_times" in stated:
            named = partial(instrument, dataset_info(name)) if name else partial(instrument, None, own=own)
            arrays = {**{each: package.array(each) for each in stated}, **hidden}
            return exposure_by_times(task, named, {**contract, "n_public": package.manifest.n_public}, arrays)
        return exposure_of(task, own=own, given=given)
    return None
