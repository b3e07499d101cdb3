"""Training: rollouts that are played from outside, by any trainer.

    from openfingym.training import Desk

    desk = Desk(["treasury-forecast"], split="train")
    episode = desk.open_sync("treasury-forecast", 0)
    text = episode.call_sync("run_python", {"code": "import interface; ..."})
    episode.finish_sync()
    episode.reward                                # None for a failure of ours, and episode.failure says which

No trainer is imported here; the adapters to some of them are modules of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.held_out import HELD_OUT, kept_apart, training_tasks
from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.instances import INSTANCE_COUNT
    from openfingym.training.desk import Desk
    from openfingym.training.episode import Episode
    from openfingym.training.groups import Played
    from openfingym.training.playing import AgentPlay
    from openfingym.training.rewards import REWARDS, TrainingReward, reward_of

__all__ = [
    "HELD_OUT",
    "INSTANCE_COUNT",
    "REWARDS",
    "AgentPlay",
    "Desk",
    "Episode",
    "Played",
    "TrainingReward",
    "kept_apart",
    "reward_of",
    "training_tasks",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "INSTANCE_COUNT": ".instances",
        "REWARDS": "rewards",
        "AgentPlay": "playing",
        "Desk": "desk",
        "Episode": "episode",
        "Played": "groups",
        "TrainingReward": "rewards",
        "reward_of": "rewards",
    },
)
