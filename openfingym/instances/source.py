"""What the instances of one task are cut from: its built package, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Self

from openfingym.data import DatasetInfo
from openfingym.data.dataset import dataset_info
from openfingym.errors import DataError, StoreError, TaskError
from openfingym.kinds import kind_of
from openfingym.kinds.instances import TrainingData, with_contract
from openfingym.packages.instruction import Written, remark_on_form, stated
from openfingym.packages.toml_tables import split_tables, toml_of, with_values
from openfingym.task.files import CONFIG, read_task_file

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.task import Task

CONTRACT = "metadata.openfingym.contract"
REMARK = " This is a part of the training data: where the text above states other numbers or dates, those below hold."
"""The remark in the instruction of every instance, because the author's text is about the task as a whole."""


@dataclass(frozen=True, eq=False)
class InstanceSource:
    """The training data of a task, and the parts of its package that its author wrote."""

    package: BuiltPackage
    """The built package of the task; only its public half is read."""
    data: TrainingData
    written: Written
    """The author's parts, with the remark of an instance."""

    @classmethod
    def of(cls, package: BuiltPackage) -> Self:
        """Read the public half of a package.

        Raises:
            StoreError: the package is damaged.
            TaskError: the package's ``task.toml`` cannot be read.
        """
        manifest, facts = package.manifest, package.contract
        task = package.task
        # A package on the library's real form of a dataset states another panel than its task.toml, and says so in its
        # instruction; both are known from the package alone.
        panel = str(facts.get("panel", task.spec.panel))
        remark = "" if panel == task.spec.panel else remark_on_form(panel)
        try:
            author, source = stated(package.read_written_instruction(), manifest.data_kind, remark)
            interface = package.interface.read_bytes()
        except (OSError, ValueError) as error:
            raise StoreError(f"{package.instruction} cannot be read ({error}); {package.remedy}") from error
        kind = kind_of(task)
        # `Task.read` cannot know that the package was built with --real; the manifest does.
        if manifest.data_kind == "real" and kind.data_kind(task) != "real":
            task = replace(task, real=True)
        data = TrainingData(
            task, package.array, facts, _provenance(package, task, source), digest=manifest.dataset_digest
        )
        config = read_task_file(package.public, CONFIG)
        return cls(package, data, Written(config, author, interface, panel, remark + REMARK))

    def with_contract(self, changes: Mapping[str, object]) -> tuple[Task, Written]:
        """The task with other values in its contract, and the author's parts with ``task.toml`` changed accordingly.

        Args:
            changes: the new values by key of the contract; without any, nothing changes.

        Raises:
            TaskError: the contract cannot have these values, or is not written as a table of its own.
        """
        if not changes:
            return self.data.task, self.written
        text = self.written.config.decode("utf-8-sig")
        values = {key: toml_of(value) for key, value in changes.items()}
        contract, blocks = {}, []
        for name, block in split_tables(text if text.endswith("\n") else f"{text}\n"):
            blocks.append(with_values(block, values, add=True) if name == CONTRACT else block)
            if name == CONTRACT:
                # This table alone: reading the whole file would take as long as making the arrays.
                contract = tomllib.loads(blocks[-1])["metadata"]["openfingym"]["contract"]
        path = self.data.task.config_path
        # The text was changed by a pattern, which an author's way of writing TOML can defeat: read back, and compared.
        if wrong := [key for key, value in changes.items() if contract.get(key) != _plain(value)]:
            raise TaskError(
                f"an instance needs another {', '.join(wrong)}; write the contract as a table [{CONTRACT}] with a "
                "line a key",
                path=path,
            )
        try:
            task = with_contract(self.data.task, changes)
        except ValueError as error:
            raise TaskError(f"an instance cannot be as its kind made it: {error}", path=path) from error
        return task, replace(self.written, config="".join(blocks).encode())


def _plain(value: object) -> object:
    """A value as TOML gives it back: tuples as lists."""
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _provenance(package: BuiltPackage, task: Task, source: str) -> DatasetInfo:
    """Where the package's data come from, as far as the package states it or the library knows it.

    Args:
        package: the built package of the task.
        task: the task of the package.
        source: the source of the data, as the instruction states it.
    """
    manifest, spec = package.manifest, task.spec
    dataset = spec.dataset
    try:
        known = dataset_info(str(dataset.name))
    except DataError:
        known = None
    if known is not None:
        return replace(
            known, name=manifest.dataset, kind=manifest.data_kind, source=source, sha256=manifest.dataset_digest
        )
    own = {"name": manifest.dataset, "kind": manifest.data_kind, "source": source, "sha256": manifest.dataset_digest}
    unknown: dict[str, object] = {"first": None, "last": None, "rows": manifest.n_train, "missing": 0, "channels": ()}
    measure = dataset.measure or ("mixed" if spec.contract.unit == "mixed" else "price")
    by_task = {"measure": measure, "frequency": spec.frequency, "unit": spec.contract.unit, "title": manifest.dataset}
    texts = {field.name: "" for field in fields(DatasetInfo) if field.type == "str"}
    # The right-most wins: what the package states, then the task, then what stands for nothing.
    return DatasetInfo(**{**texts, **unknown, **by_task, **own})  # type: ignore[arg-type]  # names of its fields
