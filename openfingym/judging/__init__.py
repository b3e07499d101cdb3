"""A model as judge of the answers that no rule can decide.

A judge's scores never enter a verified score, which is by rule alone. A judge is asked by one of the two published
protocols, its reply is read strictly, and an answer that tries to instruct it scores 0
(:mod:`openfingym.judging.guarding`).
"""

from __future__ import annotations

from openfingym.judging.judge import Judge, Judgement
from openfingym.judging.protocols import PROTOCOLS, JudgingProtocol
from openfingym.judging.replies import JudgeReply, read_reply

__all__ = ["PROTOCOLS", "Judge", "JudgeReply", "Judgement", "JudgingProtocol", "read_reply"]
