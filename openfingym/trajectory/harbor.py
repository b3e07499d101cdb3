"""A rollout as a trial of Harbor, in whose folder Harbor's own tools look for a trajectory.

::

    JOB/
        TASK__ROLLOUT/
            result.json              the agent, the task and the reward, as Harbor 0.24 has them
            agent/trajectory.json    the conversation, in ATIF (openfingym.trajectory.atif)

``harbor view`` on the folder above shows it. (``harbor traces export`` takes conversations of Harbor's own agents
alone.)
"""

from __future__ import annotations

import re
from datetime import timedelta

from openfingym.results.result import GRPO_FAILURE, GRPO_LOSS_CAP
from openfingym.trajectory.record import RolloutRecord

Json = dict[str, object]


def trial_name(rollout: RolloutRecord) -> str:
    """Name of the trial's folder."""
    # A record from elsewhere may have any name for its task, and one with ".." in it would lead out of the folder.
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', rollout.task)}__{rollout.id}"


def to_trial(rollout: RolloutRecord) -> Json:
    """The content of the trial's ``result.json``.

    The reward is the one that the task has under Harbor: -min(loss, 5), and -6 for a rollout that was rejected. A
    failure of ours is stated as an exception, and has no reward.
    """
    name, score = trial_name(rollout), rollout.score
    timing = rollout.timing
    ended_at = (timing.started_at + timedelta(seconds=timing.wall_s + (timing.verifier_s or 0.0))).isoformat()
    agent: Json = {"name": rollout.agent, "version": rollout.provenance.versions.get("openfingym", "unknown")}
    if rollout.model is not None:
        provider, _, model = rollout.model.rpartition("/")
        agent["model_info"] = {"name": model, "provider": provider or None}
    trial: Json = {
        "task_name": rollout.task,
        "trial_name": name,
        "trial_uri": "",
        "task_id": {"path": rollout.task},
        "task_checksum": rollout.task_digest,
        "config": {
            "task": {"path": rollout.task},
            "trial_name": name,
            "agent": {"name": rollout.agent, "model_name": rollout.model},
        },
        "agent_info": agent,
        "agent_result": {
            "n_input_tokens": rollout.usage.prompt,
            "n_cache_tokens": rollout.usage.cached,
            "n_output_tokens": rollout.usage.completion,
            "cost_usd": rollout.cost_usd,
        },
        "started_at": rollout.timing.started_at.isoformat(),
        "finished_at": ended_at,
    }
    # By the rules of the task under Harbor, which are not those of the record's own reward.
    if score.reward is not None:
        reward = GRPO_FAILURE if score.total is None else -min(score.total, GRPO_LOSS_CAP)
        trial["verifier_result"] = {"rewards": {**score.metrics, "reward": reward}}
    elif score.state == "error":
        trial["exception_info"] = {
            "exception_type": f"{rollout.failure.capitalize()}Failure",
            "exception_message": score.reason or "",
            "exception_traceback": "",
            "occurred_at": ended_at,
        }
    return trial
