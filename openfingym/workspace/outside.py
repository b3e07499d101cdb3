"""Whether a container was ended by somebody outside of it, which only the engine can tell: inside, any signal can be sent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym_runtime.job import Backend, Job


def was_killed_from_outside(backend: Backend, job: Job, since: float) -> bool:
    """Ask the engine for a kill of the job's container that was not ours.

    Args:
        backend: what ran the job; only Docker keeps such a record.
        job: a job that ended by itself, so that we have killed nothing.
        since: Unix time before its start.

    Raises:
        RuntimeFailureError: the engine failed.
    """
    if backend.name != "docker":
        return False
    from openfingym_runtime import docker_engine
    from openfingym_runtime.docker_container import ROLLOUT_LABEL

    filters = {"type": "container", "event": "kill", "label": f"{ROLLOUT_LABEL}={job.rollout_id}"}
    with docker_engine.failures(), docker_engine.client() as api:
        # Whole seconds: the engine waits for this one to end, and so tells what it is only learning now.
        events = api.events(since=int(since), until=int(time.time()) + 1, filters=filters, decode=True)
        return any(event["timeNano"] >= since * 1e9 for event in events)
