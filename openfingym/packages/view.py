"""A built package as one rollout sees it: with the public arrays of the rollout's tape in place of the package's."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym import store

if TYPE_CHECKING:
    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage


@contextlib.contextmanager
def seen_with(package: BuiltPackage, arrays: Mapping[str, Array]) -> Iterator[BuiltPackage]:
    """The package with other public arrays, in a folder of its own that is removed at the end.

    All other files, the manifest among them, are hard links to the package's own. So the manifest states the digests
    of the package and not of the view, and the truth half can be read with the package only.

    Args:
        package: the built package of the task.
        arrays: public arrays by name, of the shape and type of those that they replace; if empty, the package itself
            is yielded.

    Raises:
        StoreError: the store cannot be written.
    """
    if not arrays:
        yield package
        return
    with store.staging() as folder:
        view = folder / "public"
        replaced = {package.data / f"{name}.npy": array for name, array in arrays.items()}
        for path in (package.public, *sorted(package.public.rglob("*"))):
            target = view / path.relative_to(package.public)
            if path.is_dir():
                target.mkdir()
                target.chmod(store.PUBLIC_FOLDER)
            elif path in replaced:
                np.save(target, replaced[path], allow_pickle=False)
                target.chmod(store.PUBLIC_FILE)
            else:
                _link(path, target)
        yield replace(package, public=view)


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError as error:
        # A package outside the store may be on another disk, or belong to another user, whose files the kernel may not
        # let us link (fs.protected_hardlinks); and a file can have a limited number of links.
        if error.errno not in {errno.EXDEV, errno.EPERM, errno.EMLINK}:
            raise
        shutil.copy2(path, target)
