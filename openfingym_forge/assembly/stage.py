"""Stage ``assemble``: a task package in the paper's folder, from its blueprint and its data."""

from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym import catalog
from openfingym.errors import OpenFinGymError, StoreError, TaskError, UsageError
from openfingym.files.whole import store_errors, whole_folder
from openfingym.kinds import kind_of
from openfingym.kinds.material import Blocks
from openfingym.task import Task
from openfingym.task.files import DATASET_LIMIT
from openfingym_forge.assembly.assemble import assemble
from openfingym_forge.assembly.filling import PROVISIONAL, UnfitError, filled, task_name
from openfingym_forge.blueprint import Blueprint, Stated
from openfingym_forge.data.provenance import ForgeProvenance, data_again, read_provenance
from openfingym_forge.folder import UnreadableRecordError
from openfingym_forge.stage import CandidateTask, RejectionReason, StageResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openfingym.kinds.material import Material

FOLDER = "task"
"""Name of the package's folder in the folder of a paper."""
FEWEST = 8
"""Hidden items that each fold of a task must have: a score of fewer says nothing."""
ROOM = 10.0
"""How many times as large as the largest value in training an answer may be."""


class AssembleStage:
    """Fills in the template of the blueprint's kind, and reads the result as any task is read."""

    name = "assemble"

    def run(self, candidate: CandidateTask) -> StageResult:
        """Write ``task/``, whole or not at all.

        Raises:
            StoreError: the task cannot be written.
            UnreadableRecordError: the record of the data is damaged, or is not there.
        """
        blueprint = candidate.blueprint
        if blueprint is None:
            return _ended(
                "failed", RejectionReason("machinery", "there is no blueprint; `extract` has to be done first")
            )
        try:
            files, material = assembled(blueprint, candidate.folder / "data")
        except UnfitError as error:
            return _ended("refused", error.reason)
        # Says nothing about the task.
        except StoreError:
            raise
        except (TaskError, OpenFinGymError) as error:
            return _ended("refused", RejectionReason(code_of(error), f"the task cannot be built: {error}"))
        folder = candidate.folder / FOLDER
        with store_errors(folder):
            if folder.exists():
                shutil.rmtree(folder)
            with whole_folder(folder) as partial:
                for name, content in files.items():
                    (partial / name).write_bytes(content)
        facts = {
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
            "train": material.n_train,
            "public": material.n_public,
            "private": material.n_private,
        }
        return StageResult(self.name, "passed", facts=facts, files=(FOLDER,))


def assembled(blueprint: Blueprint, data: Path) -> tuple[dict[str, bytes], Material]:
    """The files of a paper's task by name, and what the task holds once it is built.

    Args:
        blueprint: blueprint of the paper, after its metrics were matched.
        data: folder with ``provenance.json`` and the files that it names.

    Raises:
        UnfitError: the blueprint or the data cannot be a task.
        OpenFinGymError: the task cannot be cut from the data; says why.
        UnreadableRecordError: ``provenance.json`` is not there or damaged.
    """
    provenance = _provenance(data)
    held = _files(provenance, data)
    complete = filled(blueprint, provenance, task_name(blueprint, frozenset(catalog.task_folders())))
    files = assemble(complete, held)
    with tempfile.TemporaryDirectory(prefix="openfingym-forge-") as folder:
        material = _cut(files, Path(folder) / "first")
        # A range that depends on the data is known once they are cut, and the task is assembled once more with it.
        if complete.value("contract.high") == PROVISIONAL:
            complete = _with_range(complete, material)
            files = assemble(complete, held)
            material = _cut(files, Path(folder) / "second")
    fewest = min(material.n_public, material.n_private)
    # A task that is stepped through has few episodes, of many steps each.
    if complete.value("contract.steps") is None and fewest < FEWEST:
        raise UnfitError(
            "too-few-rows",
            f"the folds have {material.n_public} and {material.n_private} hidden items, and {FEWEST} are the fewest of "
            "which a score says something: a shorter lookback or horizon, or more rows, would mend it",
        )
    return files, material


def code_of(error: OpenFinGymError) -> str:
    """Why a task cannot be built, as a code of a reason: told by the key that is wrong, or by the error's words."""
    text = str(error)
    key = getattr(error, "key", None) or ""
    if "rows are enough" in text or "too few" in text or "too short" in text or "one window needs" in text:
        return "too-few-rows"
    if "value_semantics" in key or "value_semantics" in text:
        return "wrong-units"
    if "scoring" in key or isinstance(error, UsageError):
        return "not-admitted"
    if key.startswith("dataset") or "channel" in text:
        return "data-changed"
    return "no-kind"


def _cut(files: Mapping[str, bytes], folder: Path) -> Material:
    """What a task holds, cut from its data as a build does it; nothing of it is kept."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    task = Task.read(folder)
    return kind_of(task).shape(task, kind_of(task).load(task))


def _with_range(blueprint: Blueprint, material: Material) -> Blueprint:
    """The blueprint with a range of values that has room around all that the training part holds. The hidden part is
    not looked at: a limit that follows from it would tell of it.
    """
    import numpy as np

    largest, smallest = 0.0, math.inf
    for name, array in material.public.items():
        if not name.startswith("train"):
            continue
        # Arrays that are made in blocks are too large to be held whole.
        for block in array if isinstance(array, Blocks) else (np.asarray(array),):
            if block.dtype.kind == "f" and block.size:
                largest, smallest = max(largest, float(np.abs(block).max())), min(smallest, float(block.min()))
    # A power of ten: tells the size of the data and nothing more exact.
    high = 10.0 ** math.ceil(math.log10(max(ROOM * largest, 1e-6)))
    semantics = blueprint.value("contract.value_semantics")
    low = 0.0 if semantics in ("price_level", "realised_vol") and smallest >= 0.0 else -high
    why = "from the largest value of training"
    ends = {"contract.low": Stated(value=low, assumed=why), "contract.high": Stated(value=high, assumed=why)}
    return blueprint.model_copy(update={"fields": blueprint.fields | ends})


def _provenance(data: Path) -> ForgeProvenance:
    """Where the data are from, if a package may hold them."""
    provenance = read_provenance(data)
    if provenance is None:
        raise UnreadableRecordError(f"{data / 'provenance.json'}: it is not there; {data_again(data)}")
    if not provenance.pass_on and provenance.dataset.get("file"):
        raise UnfitError("licence-forbids", "the licence of the data does not allow a package to hold them")
    return provenance


def _files(provenance: ForgeProvenance, data: Path) -> dict[str, bytes]:
    """The bytes of the file that the task holds, by its name, if it is as it was judged."""
    name = provenance.dataset.get("file")
    if name is None:
        return {}
    # The last part of the name alone, and no link: the file is copied into a package that others read.
    path = data / Path(str(name)).name
    if not path.is_file() or path.is_symlink() or path.stat().st_size > DATASET_LIMIT:
        raise UnfitError("data-unavailable", f"{path.name} is not there, or is no plain file of a task's size")
    content = path.read_bytes()
    stated = provenance.digests.get(path.name)
    if stated is not None and hashlib.sha256(content).hexdigest() != stated:
        raise UnfitError("data-changed", f"{path.name} is not what it was when the data were judged; judge it again")
    return {path.name: content}


def _ended(state: Any, reason: RejectionReason) -> StageResult:
    return StageResult("assemble", state, (reason,))
