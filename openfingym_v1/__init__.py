"""OpenFinGym as a plug-in of ``verifiers`` and ``prime-rl``, which know it by the name ``openfingym-v1``.

    vf-eval openfingym-v1 -n 2 -r 2 -m MODEL --env.taskset.tasks '["nifty50-forecast"]'

The task set consists of instances of tasks. The harness plays them with the built-in agents as they are, whose model is
the interception endpoint of verifiers, and the reward is the verified one. See ``docs/verifiers.md``.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym_v1.environment import EpisodeEnv
    from openfingym_v1.harness import EpisodeHarness
    from openfingym_v1.taskset import EpisodeTaskset

__all__ = ["EpisodeEnv", "EpisodeHarness", "EpisodeTaskset"]

_MODULES = {"EpisodeEnv": "environment", "EpisodeHarness": "harness", "EpisodeTaskset": "taskset"}


def __getattr__(name: str) -> Any:  # whatever the name stands for
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec("verifiers") is None or importlib.util.find_spec("verifiers.v1") is None:
        raise UsageError(
            "openfingym_v1 is the plug-in of verifiers, which is not installed here, or is older than 0.4: "
            'pip install "verifiers>=0.4"'
        )
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
