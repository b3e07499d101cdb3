"""Materialising a task into a built package.

Building is a pure function of the task's files, the dataset and this module: the same inputs
give the same bytes, on every supported Python. See :mod:`openfingym.package` for what is
written where.
"""

from __future__ import annotations

import hashlib
import io
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.errors import TaskError
from openfingym.package import PACKAGE_FORMAT, BuiltPackage, Manifest, canonical_json, files_digest, sha256_file, truth_digest
from openfingym.task import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.data import DatasetInfo, Panel
    from openfingym.data.recipe import Windows

BUILDER_VERSION = 1
"""Raised whenever the same task would build to other bytes."""

INTERFACE_LIMIT = 64 * 1024


def build(task: Task, *, force: bool = False) -> BuiltPackage:
    """Return the built package of ``task``, building it if the store has none.

    Args:
        task: the task package.
        force: build again even where the store has it, and replace what is there.

    Raises:
        TaskError: the task cannot be built as it is written.
        DataError: its dataset is missing or damaged.
        StoreError: the store cannot be written.
    """
    public, truth = store.package_folders(task.name, build_key(task))
    if not force and (public / "package.json").is_file() and (truth / "truth.json").is_file():
        return BuiltPackage(public, truth)
    with store.staging() as folder:
        write_package(task, folder / "public", folder / "truth")
        # Truth first: whoever sees the public half finds the other one there.
        store.install(folder / "truth", truth, replace=force or not _same_record(folder / "truth", truth))
        store.install(folder / "public", public, replace=force)
    return BuiltPackage(public, truth)


def build_key(task: Task) -> str:
    """The store key of a task: 16 hex digits over everything the build reads."""
    inputs = {
        "builder": BUILDER_VERSION,
        "files": {path.name: sha256_file(path) for path in _source_files(task)},
        "templates": {name: hashlib.sha256(_template(name)).hexdigest() for name in ("interface.py", "Dockerfile", "test.sh")},
        "dataset": _dataset_digest(task),
    }
    return hashlib.sha256(canonical_json(inputs)).hexdigest()[:16]


def write_package(task: Task, public: Path, truth: Path) -> None:
    """Write both halves of ``task`` into two empty or missing folders."""
    from openfingym.data import recipe

    panel = load_panel(task)
    times, values = recipe.to_values(panel, task.spec.contract.value_semantics)
    windows = recipe.cut(values, times, split=task.spec.split, contract=task.spec.contract)
    data = public / "environment" / "data"
    data.mkdir(parents=True)
    (public / "tests").mkdir()
    truth.mkdir(parents=True, mode=store.TRUTH_FOLDER)

    _save(data / "train_inputs.npy", windows.train_inputs)
    _save(data / "train_targets.npy", windows.train_targets)
    _save(data / "test_inputs.npy", windows.test_inputs)
    _save(data / "train_times.npy", windows.train_times)
    _save(data / "test_times.npy", windows.test_times)
    _save(truth / "targets.npy", windows.test_targets)

    contract = describe(task, panel.info, windows)
    (data / "contract.json").write_bytes(json.dumps(contract, indent=2).encode() + b"\n")
    (public / "task.toml").write_bytes(task.config_path.read_bytes())
    (public / "instruction.md").write_text(render_instruction(task, panel.info, windows), encoding="utf-8")
    (public / "environment" / "interface.py").write_bytes(_interface(task))
    (public / "environment" / "Dockerfile").write_bytes(_template("Dockerfile"))
    (public / "tests" / "test.sh").write_bytes(_template("test.sh"))
    _seal(task, panel, windows, public, truth)


def load_panel(task: Task) -> Panel:
    """The task's dataset, restricted to its channels."""
    from openfingym import data

    reference = task.spec.dataset
    if reference.file is None:
        assert reference.name is not None
        return data.load_panel(reference.name, reference.channels)
    assert reference.measure is not None
    assert reference.kind is not None
    assert reference.source is not None
    assert reference.licence is not None
    return data.read_csv_panel(
        _dataset_file(task),
        measure=reference.measure,
        kind=reference.kind,
        source=reference.source,
        licence=reference.licence,
        channels=reference.channels,
        name=task.name,
    )


def describe(task: Task, info: DatasetInfo, windows: Windows) -> dict[str, object]:
    """``contract.json``: everything a program needs to know, as plain values."""
    contract, spec = task.spec.contract, task.spec
    n_test = windows.n_public + windows.n_private
    return {
        "name": task.name,
        "version": task.version,
        "family": spec.family,
        "asset_class": spec.asset_class,
        "frequency": spec.frequency,
        "data_kind": info.kind,
        "value_semantics": contract.value_semantics,
        "unit": contract.unit,
        "dtype": contract.dtype,
        "low": contract.low,
        "high": contract.high,
        "lookback": contract.lookback,
        "horizon": contract.horizon,
        "channels": list(spec.dataset.channels),
        "scaling": {
            "method": spec.split.scaling,
            "mean": windows.mean.tolist(),
            "scale": windows.scale.tolist(),
        },
        "n_train": len(windows.train_inputs),
        "n_test": n_test,
        "submission_shape": [n_test, contract.horizon, len(spec.dataset.channels)],
        "metrics": [{"name": metric.name, "weight": metric.weight} for metric in spec.scoring.metrics],
        "budget": spec.verification.budget,
        "timeout_s": task.file.agent.timeout_sec,
        "memory_mb": task.file.environment.memory_mb,
    }


def render_instruction(task: Task, info: DatasetInfo, windows: Windows) -> str:
    """``instruction.md``: the author's text, then the facts no author should have to repeat."""
    spec, contract = task.spec, task.spec.contract
    n_test, channels = windows.n_public + windows.n_private, spec.dataset.channels
    shape = f"({n_test}, {contract.horizon}, {len(channels)})"
    losses = ", ".join(f"{metric.weight:.4g} x {metric.name}" for metric in spec.scoring.metrics)
    honesty = {
        "real": f"Real data: {info.source}.",
        "simulated": f"SIMULATED data, not a real market: {info.source}.",
        "specified": f"Synthetic by definition of the source paper: {info.source}.",
    }[info.kind]
    author = task.instruction_path.read_text(encoding="utf-8").strip()
    return f"""{author}

## Data

{honesty}

| | |
|---|---|
| value | {contract.value_semantics.replace("_", " ")}, {contract.unit}, {spec.frequency} |
| channels | {", ".join(channels)} |
| training windows | {len(windows.train_inputs)} |
| windows to predict | {n_test} |
| inputs of a window | {contract.lookback} rows x {len(channels)} channels |
| targets of a window | the next {contract.horizon} rows x {len(channels)} channels |
| scaling | {spec.split.scaling} |

Windows are in time order; those to predict are later than all of training, and none of their targets
appears anywhere in the data you have.

## What to do

Write a Python program. It runs once, in a container without a network, in the empty folder `/work`.

```python
import interface

inputs, targets = interface.load_train()  # float64 {_shape(windows.train_inputs)}, {_shape(windows.train_targets)}
test = interface.load_test_inputs()  # float64 {_shape(windows.test_inputs)}
feedback = interface.submit(predictions)  # predictions: float64 {shape}
```

Every prediction must be finite and between {contract.low:g} and {contract.high:g}.

## How it is scored

Loss (lower is better): {losses}. The verifier computes it; you may submit at most
{spec.verification.budget} times, and the last accepted submission counts. After each submission you see the loss on a
first part of the windows, clipped and rounded; the score is the loss on the later part, which is not
shown while you work.

## Limits

{task.file.agent.timeout_sec:g} seconds, {task.file.environment.memory_mb} MB of memory, {task.file.environment.cpus} CPU core(s),
{task.file.environment.storage_mb} MB of disk in `/work`. Installed: NumPy, pandas, SciPy, scikit-learn, and where the machine
has them statsmodels, LightGBM and arch. The Unix time at which the program will be stopped is in `$OPENFINGYM_DEADLINE`.
"""


def _shape(array: NDArray[np.float64]) -> str:
    return str(tuple(array.shape))


def _save(path: Path, array: NDArray[np.float64] | NDArray[np.datetime64]) -> None:
    import numpy as np

    # Through memory: NumPy reports a full disk as an error without a number.
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    path.write_bytes(content.getvalue())


def _seal(task: Task, panel: Panel, windows: Windows, public: Path, truth: Path) -> None:
    """Write both digests and give every file its final mode."""
    files = {path.relative_to(public).as_posix(): sha256_file(path) for path in sorted(public.rglob("*")) if path.is_file()}
    record = {"public_digest": files_digest(files), "targets": sha256_file(truth / "targets.npy")}
    (truth / "truth.json").write_bytes(canonical_json(record))
    contract = task.spec.contract
    manifest = Manifest(
        format=PACKAGE_FORMAT,
        name=task.name,
        version=task.version,
        data_kind=panel.info.kind,
        dataset=panel.info.name,
        dataset_digest=panel.digest,
        n_train=len(windows.train_inputs),
        n_public=windows.n_public,
        n_private=windows.n_private,
        lookback=contract.lookback,
        horizon=contract.horizon,
        channels=task.spec.dataset.channels,
        public_digest=record["public_digest"],
        truth_digest=truth_digest(record),
        files=files,
    )
    (public / "package.json").write_bytes(manifest.to_json())
    store.set_modes(public, file=store.PUBLIC_FILE, directory=store.PUBLIC_FOLDER)
    (public / "tests" / "test.sh").chmod(0o755)
    store.set_modes(truth, file=store.TRUTH_FILE, directory=store.TRUTH_FOLDER)


def _same_record(new: Path, old: Path) -> bool:
    """Whether the truth half in place already is the one just built."""
    record = old / "truth.json"
    return record.is_file() and record.read_bytes() == (new / "truth.json").read_bytes()


def _template(name: str) -> bytes:
    return (resources.files("openfingym") / "package_files" / name).read_bytes()


def _interface(task: Task) -> bytes:
    """The task's own ``interface.py`` where it has one, else the one all batch tasks share."""
    own = task.folder / "interface.py"
    if not own.is_file():
        return _template("interface.py")
    if own.stat().st_size > INTERFACE_LIMIT:
        raise TaskError(f"is {own.stat().st_size} bytes; at most {INTERFACE_LIMIT} are allowed", path=own)
    return own.read_bytes()


def _source_files(task: Task) -> list[Path]:
    own = task.folder / "interface.py"
    return [task.config_path, task.instruction_path, *([own] if own.is_file() else [])]


def _dataset_file(task: Task) -> Path:
    """The author's CSV, which must really lie inside the task's folder."""
    assert task.spec.dataset.file is not None
    path = task.folder / task.spec.dataset.file
    key = "metadata.openfingym.dataset.file"
    if not path.is_file():
        raise TaskError(f"{task.spec.dataset.file!r} is not there", path=task.config_path, key=key)
    if not path.resolve().is_relative_to(task.folder.resolve()):
        raise TaskError(f"{task.spec.dataset.file!r} is a link that leaves the task's folder", path=task.config_path, key=key)
    return path


def _dataset_digest(task: Task) -> str:
    from openfingym import data

    reference = task.spec.dataset
    if reference.file is not None:
        return sha256_file(_dataset_file(task))
    assert reference.name is not None
    return data.dataset_info(reference.name).sha256
