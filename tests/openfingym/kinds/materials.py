"""What tests of several kinds need: materials, noise in place of what is hidden, and ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.errors import TaskError
from openfingym.kinds import Material, kind_of, score_fold
from openfingym.kinds.material import Blocks
from openfingym.kinds.walk import SHOWN
from openfingym.metrics import relative
from openfingym.task import Task
from openfingym.task.model import parse_task_file

ROWS = 400


def edited(text: str, name: str, value: str) -> str:
    """Give a key another value, or, where the scaffold has none, add it to the contract (or the split, for its own
    keys)."""
    lines, found = [], False
    for line in text.splitlines():
        if line.split("=")[0].strip() == name:
            found = True
            lines.append(f"{name} = {value}")
        else:
            lines.append(line)
    if not found:
        table = "split" if name in {"scaling", "scaled", "log1p"} else "contract"
        at = lines.index(f"[metadata.openfingym.{table}]") + 1
        lines.insert(at, f"{name} = {value}")
    return "\n".join(lines) + "\n"


def assert_refused(task: Task, folder: Path, edit: tuple[str, str], message: str) -> None:
    """Give a part of ``task.toml`` another text, which must be refused with this message."""
    text = task.config_path.read_text()
    assert edit[0] in text
    with pytest.raises(TaskError, match=message):
        parse_task_file(text.replace(*edit), folder)


def walk(seed: int = 0, rows: int = ROWS, scale: float = 0.01) -> NDArray[np.float64]:
    """A positive random walk."""
    path: NDArray[np.float64] = 100.0 * np.exp(np.cumsum(scale * np.random.default_rng(seed).standard_normal(rows)))
    return path


def made(task: Task) -> Material:
    kind = kind_of(task)
    return kind.shape(task, kind.load(task))


def array(made_of: object) -> NDArray[np.float64]:
    """An array of a material, put together if it comes in blocks."""
    return np.concatenate(list(made_of)) if isinstance(made_of, Blocks) else np.asarray(made_of)


def read_of(material: Material) -> Callable[[str], NDArray[np.float64]]:
    """A reader of what is public, and of what windows show."""
    arrays = {**material.hidden, **material.public}
    return lambda name: array(arrays[name])


def changed_by_scrambling(task: Task) -> set[str]:
    """Names of the public arrays that differ when every hidden value is noise; checks that the hidden ones do."""
    kind = kind_of(task)
    source = kind.load(task)
    before = kind.shape(task, source)
    after = kind.shape(task, kind.scramble(task, source, np.random.default_rng(1)))
    for name in before.hidden.keys() - {name for name in before.hidden if name.startswith(SHOWN)}:
        values = before.hidden[name]
        assert not np.array_equal(values, after.hidden[name]), "the noise did not reach the hidden values"
    return {
        name for name, values in before.public.items() if not np.array_equal(array(values), array(after.public[name]))
    }


def ranks(task: Task, material: Material, **answers: NDArray[np.float64]) -> dict[str, float]:
    """Relative total on the private fold of each answer, of the oracle and of the baseline."""
    kind, spec = kind_of(task), task.spec
    read = read_of(material)
    public, private = kind.folds(spec, read, material.hidden, (material.n_public, material.n_private), 0)
    base = kind.naive(spec.contract, read, material.shape)
    best = kind.oracle(spec.contract, material.hidden, material.shape)
    assert base.shape == best.shape == material.shape
    kind.check(spec.contract, public, best)
    kind.check(spec.contract, public, base)
    answers = {"baseline": base, "oracle": best, **answers}
    scores = {
        name: score_fold(spec.contract, spec.scoring, private, answer).metrics for name, answer in answers.items()
    }
    return {name: relative(spec.scoring, values, scores["baseline"]) for name, values in scores.items()}
