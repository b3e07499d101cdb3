"""Making tasks known to Gymnasium as ``openfingym/<task>-v0``.

``gymnasium.make`` finds only what is in its registry, and Gymnasium has no plug-in entry points.
Importing Gymnasium from ``import openfingym`` would cost more than everything else that import
does, so the ids are registered at once if Gymnasium is loaded already, and otherwise right after
it is: the order of the two imports does not matter.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

NAMESPACE = "openfingym"


def register_when_gymnasium_is_imported() -> None:
    """Register now if Gymnasium is loaded, else as soon as it is."""
    if "gymnasium" in sys.modules:
        register_envs()
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())


def register_envs() -> None:
    """Register every known task; reads folder names only."""
    from openfingym.catalog import task_folders

    for name in task_folders():
        register_task(name)


def register_task(name: str) -> None:
    """Register one task, unless it is known already; a no-op until Gymnasium is loaded."""
    gymnasium = sys.modules.get("gymnasium")
    if gymnasium is None:
        return
    env_id = f"{NAMESPACE}/{name}-v0"
    if env_id not in gymnasium.registry:
        making = "openfingym.envs.making"
        gymnasium.register(id=env_id, entry_point=f"{making}:make", vector_entry_point=f"{making}:make_vec", kwargs={"task": name})


class _AfterGymnasium(MetaPathFinder):
    """Steps aside at the first ``import gymnasium`` and has the ids registered when it is done."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader, run_module = spec.loader, spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run_module(module)
                register_envs()

            loader.exec_module = exec_module  # type: ignore[method-assign]  # this one module, once
        return spec
