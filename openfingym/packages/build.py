"""Materialising a task into a built package.

Building is a pure function of the task's files, the dataset and this library's code: the same inputs give the same
bytes, on every supported Python. See :mod:`openfingym.packages.package` for what is written where.
"""

from __future__ import annotations

import io
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym import store
from openfingym.digests import canonical_json, sha256_of, sha256_of_file, sha256_of_files, sha256_of_json
from openfingym.errors import TaskError
from openfingym.kinds import Kind, Material, kind_of
from openfingym.kinds.material import Array, Blocks
from openfingym.kinds.real_forms import RealForm, real_form
from openfingym.kinds.walk import SHOWN, Walk
from openfingym.packages.instruction import Written, remark_on_form, render_instruction
from openfingym.packages.package import PACKAGE_FORMAT, BuiltPackage, PackageManifest, files_digest, truth_digest
from openfingym.task import Task
from openfingym.task.files import CONFIG, INSTRUCTION, INTERFACE, has_task_file, read_task_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openfingym.task.contracts import Contract

BUILDER_VERSION = 2
"""To be raised by whoever changes this code so that the same task builds to other bytes."""


def build(task: Task, *, force: bool = False) -> BuiltPackage:
    """Return the built package of ``task``, building it if the store has none.

    Args:
        task: the task to build.
        force: whether to build again even if the store has the package, and to replace it.

    Raises:
        TaskError: the task cannot be built as its ``task.toml`` states it.
        DataError: the task's dataset is missing or damaged.
        StoreError: the store cannot be written.
    """
    public, truth = store.package_folders(task.name, build_key(task))
    if not force and is_there(public / "package.json") and is_there(truth / "truth.json"):
        return BuiltPackage(public, truth)
    with store.staging() as folder:
        write_package(task, folder / "public", folder / "truth")
        # Truth first: whoever sees the public half then finds its truth in place. A truth half may be there already,
        # left by a build that was killed at this point; one that is not as just built would never match.
        store.install(folder / "truth", truth, replace=force or not _same_record(folder / "truth", truth))
        store.install(folder / "public", public, replace=force)
    return BuiltPackage(public, truth)


def is_there(path: Path) -> bool:
    """Whether a file of a built package is in the store."""
    try:
        return path.is_file()
    except OSError:
        return False  # the build that follows fails in such a store as well, with a message that says what to do


def build_key(task: Task) -> str:
    """The store key of a task: 16 hex digits of a hash over everything that the build reads."""
    inputs: dict[str, object] = {
        "builder": BUILDER_VERSION,
        "files": {name: sha256_of(read_task_file(task.folder, name)) for name in _source_files(task)},
        "templates": {name: sha256_of(_template(file)) for name, file in _templates(task).items()},
        "dataset": kind_of(task).source_key(task),
        "real": task.real,
    }
    modules = kind_of(task).modules(task.spec.contract)
    # Keys that most tasks lack are added only where they are needed, so that the keys of the others stay the same.
    if modules:
        inputs["modules"] = {name: sha256_of(source.encode()) for name, source in modules.items()}
    form = _form(task)
    if form is not None:
        inputs["form"] = form.key
    return sha256_of_json(inputs)[:16]


def write_package(task: Task, public: Path, truth: Path) -> Material:
    """Write both halves of ``task`` into two missing folders; returns the material that they hold."""
    kind = kind_of(task)
    material = kind.shape(task, kind.load(task))
    form = _form(task)
    author = _text(read_task_file(task.folder, INSTRUCTION), task.instruction_path).strip()
    panel = task.spec.panel if form is None else form.panel
    remark = "" if form is None else remark_on_form(panel)
    written = Written(read_task_file(task.folder, CONFIG), author, _interface(task), panel, remark)
    write_material(task, material, written, public, truth)
    return material


def write_material(task: Task, material: Material, written: Written, public: Path, truth: Path) -> PackageManifest:
    """Write both halves of a package into two missing folders; returns its manifest.

    Args:
        task: the task that is built.
        material: the arrays, public and hidden, and the facts about them.
        written: the parts of the package that are as the task's author wrote them.
        public: folder to write the public half to.
        truth: folder to write the truth half to.
    """
    data = public / "environment" / "data"
    data.mkdir(parents=True)
    (public / "tests").mkdir()
    truth.mkdir(parents=True, mode=store.TRUTH_FOLDER)
    for name, array in material.public.items():
        _save(data / f"{name}.npy", array)
    for name, array in material.hidden.items():
        _save(truth / f"{name}.npy", array)
    contract = describe(task, material, written.panel)
    (data / "contract.json").write_bytes(json.dumps(contract, indent=2).encode() + b"\n")
    (public / "task.toml").write_bytes(written.config)
    (public / "instruction.md").write_text(render_instruction(task, material, written), encoding="utf-8")
    (public / "environment" / "interface.py").write_bytes(written.interface)
    modules = kind_of(task).modules(task.spec.contract)
    for name, source in modules.items():
        (public / "environment" / f"{name}.py").write_text(source, encoding="utf-8")
    (public / "environment" / "Dockerfile").write_bytes(_dockerfile(modules))
    (public / "tests" / "test.sh").write_bytes(_template("test.sh"))
    return _seal(task, material, public, truth)


def describe(task: Task, material: Material, panel: str) -> dict[str, object]:
    """The content of ``contract.json``: everything that a program needs to know about the task, as plain values.

    Args:
        task: the task that is built.
        material: the arrays of the package and the facts about them.
        panel: what the data holds, in a few words.
    """
    from openfingym.metrics import find_metric

    contract, spec, kind = task.spec.contract, task.spec, kind_of(task)
    lookback, horizon = _reach(contract)
    # ``interface.py`` reads these of every task, so they are there even if its kind does not state them.
    always = {"lookback": lookback, "horizon": horizon, "channels": list(material.labels)}
    return {
        "name": task.name,
        "version": task.version,
        "family": spec.family,
        "kind": contract.kind,
        "asset_class": spec.asset_class,
        "frequency": spec.frequency,
        "panel": panel,
        "data_kind": material.info.kind,
        "value_semantics": getattr(contract, "value_semantics", None),
        "unit": contract.unit,
        "dtype": contract.dtype,
        "low": contract.low,
        "high": contract.high,
        **material.facts,
        **{name: value for name, value in always.items() if name not in material.facts},
        "n_train": material.n_train,
        "n_test": material.n_public + material.n_private,
        "submission_shape": list(material.shape),
        "submission_axes": list(material.submission_axes),
        "labels": list(material.labels),
        "load_train": list(kind.load_train),
        "load_test_inputs": [] if kind.walks(contract) else list(kind.load_test),
        "arrays": {
            name: {"shape": list(array.shape), "axes": list(material.axes[name])}
            for name, array in material.public.items()
        },
        **(_windows(kind, contract, material) if kind.walks(contract) else {}),
        "metrics": [
            {"name": m.name, "weight": m.weight, "direction": find_metric(m.name).direction}
            for m in spec.scoring.metrics
        ],
        "periods_per_year": spec.scoring.periods_per_year,
        "budget": spec.verification.budget,
        "timeout_s": task.file.agent.timeout_sec,
        "memory_mb": task.file.environment.memory_mb,
        "recipe": list(material.recipe),
    }


def _windows(kind: Kind, contract: Contract, material: Material) -> dict[str, object]:
    """The arrays that a window shows, by name, with the shape of one item; and how many windows each fold has."""
    arrays = {**material.public, **material.hidden}
    walk = Walk.of(kind.due(contract, lambda name: np.asarray(arrays[name])), (material.n_public, material.n_private))
    shown = {
        name.removeprefix(SHOWN): {
            "shape": list(array.shape[1:]),
            "axes": list(material.axes[name]),
            # Texts of a rollout's own may be longer than the package's.
            "dtype": "str" if array.dtype.kind == "U" else str(array.dtype),
        }
        for name, array in material.hidden.items()
        if name.startswith(SHOWN)
    }
    return {"window": shown, "windows": {"public": walk.n_public, "private": walk.n_private}}


def _save(path: Path, array: Array | Blocks) -> None:
    if isinstance(array, Blocks):
        _save_blocks(path, array)
        return
    # Through memory: NumPy reports a full disk as an error without a number.
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    # Not getbuffer(): Python 3.12.1 crashes where it collects a view of a buffer that an error has kept alive.
    path.write_bytes(content.getvalue())


def _save_blocks(path: Path, blocks: Blocks) -> None:
    """Write an array block by block, never holding more than one."""
    # The file that np.save would write, byte for byte, made without the whole array.
    header = {"descr": "<f8", "fortran_order": False, "shape": blocks.shape}
    rows = 0
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for block in blocks:
            stream.write(np.ascontiguousarray(block, dtype="<f8").data)
            rows += len(block)
    assert rows == blocks.shape[0], f"{path.name}: {rows} rows made, {blocks.shape[0]} announced"


def _seal(task: Task, material: Material, public: Path, truth: Path) -> PackageManifest:
    """Write both digests and give every file its final mode."""
    files = sha256_of_files(public)
    public_digest = files_digest(files)
    record: dict[str, object] = {
        "public_digest": public_digest,
        "arrays": {name: sha256_of_file(truth / f"{name}.npy") for name in material.hidden},
    }
    (truth / "truth.json").write_bytes(canonical_json(record))
    lookback, horizon = _reach(task.spec.contract)
    manifest = PackageManifest(
        format=PACKAGE_FORMAT,
        name=task.name,
        version=task.version,
        data_kind=material.info.kind,
        dataset=material.info.name,
        dataset_digest=material.dataset_digest,
        n_train=material.n_train,
        n_public=material.n_public,
        n_private=material.n_private,
        lookback=lookback,
        horizon=horizon,
        submission_shape=material.shape,
        submission_axes=material.submission_axes,
        labels=material.labels,
        public_digest=public_digest,
        truth_digest=truth_digest(record),
        files=files,
    )
    # Last, as it holds the digests of all other files.
    (public / "package.json").write_bytes(manifest.to_json())
    store.set_modes(public, file=store.PUBLIC_FILE, directory=store.PUBLIC_FOLDER)
    (public / "tests" / "test.sh").chmod(0o755)
    store.set_modes(truth, file=store.TRUTH_FILE, directory=store.TRUTH_FOLDER)
    return manifest


def _form(task: Task) -> RealForm | None:
    """The library's real form of a task's dataset, where the task runs on it; None where the task runs on the data that
    it states itself, real or not.
    """
    return real_form(task) if task.real and task.spec.dataset.pulled is None and real_form(task).panel else None


def _reach(contract: Contract) -> tuple[int, int]:
    """Rows that are shown, and rows that are asked for; 0 and 1 if the contract does not state them."""
    return getattr(contract, "lookback", 0), getattr(contract, "horizon", 1)


def _same_record(new: Path, old: Path) -> bool:
    """Whether the truth half that is in place is the one just built."""
    record = old / "truth.json"
    return record.is_file() and record.read_bytes() == (new / "truth.json").read_bytes()


def _templates(task: Task) -> dict[str, str]:
    """Files of a package that are the same for many tasks, by name, with the name of the template of each."""
    interface = kind_of(task).interface_of(task.spec.contract)
    return {"interface.py": interface, "Dockerfile": "Dockerfile", "test.sh": "test.sh"}


def _template(name: str) -> bytes:
    return (resources.files("openfingym") / "packages" / "templates" / name).read_bytes()


def _dockerfile(modules: Mapping[str, str]) -> bytes:
    """The template of the Dockerfile, with a line for each module beside ``interface.py``."""
    copied = b"COPY interface.py /task/interface.py\n"
    more = b"".join(f"COPY {name}.py /task/{name}.py\n".encode() for name in modules)
    return _template("Dockerfile").replace(copied, copied + more)


def _interface(task: Task) -> bytes:
    """The task's own ``interface.py`` where it has one, otherwise the template of its kind."""
    if not has_task_file(task.folder, INTERFACE):
        return _template(_templates(task)["interface.py"])
    return read_task_file(task.folder, INTERFACE)


def _text(content: bytes, path: Path) -> str:
    """The text that an author wrote, with every line end as a newline."""
    try:
        # TextIOWrapper turns \r\n and \r into \n, so that a file saved on Windows builds to the same bytes.
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8").read()
    except UnicodeDecodeError as error:
        raise TaskError(f"is not UTF-8 text ({error.reason} at byte {error.start})", path=path) from None


def _source_files(task: Task) -> list[str]:
    return [CONFIG, INSTRUCTION, *([INTERFACE] if has_task_file(task.folder, INTERFACE) else [])]
