"""Stage ``rewards``: each metric of a paper is one of the bank's, by meaning and by numbers, or a new one that a person
may install.
"""

from openfingym_forge.rewards.stage import RewardsStage

__all__ = ["RewardsStage"]
