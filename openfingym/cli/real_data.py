"""The line of ``openfingym task show`` about real data in place of a task's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.task import Task


def real_data(task: Task) -> str:
    """What ``--real`` puts in place of the task's data, or why there is nothing to put there; no data is loaded."""
    from openfingym.kinds import kind_of
    from openfingym.kinds.real_forms import real_form

    form = real_form(task)
    if form.pulled is not None:
        return f"of {form.pulled.source}, with --real, after `{form.command}`"
    if kind_of(task).data_kind(replace(task, real=False)) == "real":
        return "its own"
    return f"none: {form.why}"
