"""A model as judge of the answers that no rule can decide.

Nothing of it enters a verified score, which is by rule alone. A judge is asked with one of the two published protocols,
its answer is read strictly, and an answer that tries to instruct it scores 0 (:mod:`openfingym.judging.guarding`).
"""

from __future__ import annotations

from openfingym.judging.judge import Judge, Judgement
from openfingym.judging.protocols import PROTOCOLS, Protocol
from openfingym.judging.replies import Reply, read_reply

__all__ = ["PROTOCOLS", "Judge", "Judgement", "Protocol", "Reply", "read_reply"]
