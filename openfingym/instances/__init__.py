"""Instances: packages cut from a task's training data alone, on which agents are trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym import lazy

if TYPE_CHECKING:
    from openfingym.instances.building import INSTANCE_COUNT, build_instance, place_of
    from openfingym.instances.cache import Instances
    from openfingym.instances.source import InstanceSource

__all__ = ["INSTANCE_COUNT", "InstanceSource", "Instances", "build_instance", "place_of"]

__getattr__, __dir__ = lazy.names_of(
    __name__,
    {
        "INSTANCE_COUNT": "building",
        "InstanceSource": "source",
        "Instances": "cache",
        "build_instance": "building",
        "place_of": "building",
    },
)
