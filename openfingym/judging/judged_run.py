"""A run's answers after a judge: what rules decided, what was left, and how far judge and rules agree."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from openfingym.digests import sha256_of_text
from openfingym.judging.judge import Judge, Judgement
from openfingym.judging.recorded import RecordedAnswer


@dataclass(frozen=True)
class JudgedAnswer:
    """An answer with what a rule and, where it was asked, a judge made of it."""

    recorded: RecordedAnswer
    judgement: Judgement | None

    def to_json(self, *, replies: bool = False) -> dict[str, object]:
        """As a line of ``judgements.jsonl``; with the judge's replies, which may tell the truth."""
        one, judged = self.recorded, self.judgement
        found: dict[str, object] = {
            "rollout": one.rollout,
            "question": one.question.id,
            "group": list(one.reference.group),
            "answer_sha256": sha256_of_text(one.answer),
            "rule": {"outcome": one.verdict.outcome, "state": one.verdict.state, "rule": one.verdict.rule},
            "judge": None,
        }
        if judged is not None:
            kept = {
                name: getattr(judged, name) for name in ("score", "state", "agreement", "protocol", "calls", "cost_usd")
            }
            found["judge"] = {**kept, "reason": judged.reason, **({"replies": list(judged.replies)} if replies else {})}
        return found


@dataclass(frozen=True)
class JudgedSummary:
    """What a run came to."""

    answers: int
    right: int
    """By rule: these alone are in the verified score."""
    wrong: int
    undecided: int
    judged_right: int
    """Of the undecided."""
    judged_wrong: int
    states: dict[str, int]
    """How the judgements of the undecided ended, by state."""
    accuracy_by_rule: float
    accuracy_low: float
    """With the judge's scores, where what has none counts as wrong."""
    accuracy_high: float
    """The same, where it counts as right."""
    compared: int
    """Answers that a rule had decided, and the judge scored too."""
    agreement_with_rules: float | None
    agreement_of_repeats: float | None
    calls: int
    cost_usd: float | None


def chosen(found: Sequence[RecordedAnswer], sample: int, limit: int | None = None) -> list[bool]:
    """Which answers are judged: those that no rule decides, and so many of the others, the same ones every time."""
    left = [place for place, one in enumerate(found) if one.verdict.outcome == "undecided"][:limit]
    decided = [place for place, one in enumerate(found) if one.verdict.outcome != "undecided" and one.answer]
    order = sorted(decided, key=lambda place: sha256_of_text(f"{found[place].rollout} {found[place].question.id}"))
    judged = {*order[:sample], *left}
    return [place in judged for place in range(len(found))]


async def judge_run(
    judge: Judge, found: Sequence[RecordedAnswer], *, sample: int = 0, limit: int | None = None, concurrency: int = 8
) -> list[JudgedAnswer]:
    """Judge a run's answers.

    Args:
        judge: who judges.
        found: the recorded answers.
        sample: how many answers that a rule has decided are judged besides, to see how far both agree.
        limit: how many answers are judged at most that no rule has decided; None for all.
        concurrency: answers that are judged at once.

    Raises:
        ModelUnavailableError: the model cannot be asked.
    """
    gate = asyncio.Semaphore(concurrency)

    async def one(answer: RecordedAnswer, wanted: bool) -> JudgedAnswer:
        if not wanted:
            return JudgedAnswer(answer, None)
        async with gate:
            return JudgedAnswer(answer, await judge.judge(answer.question.text, answer.reference, answer.answer))

    wanted = chosen(found, sample, limit)
    return list(await asyncio.gather(*(one(answer, want) for answer, want in zip(found, wanted, strict=True))))


def summary(judged: Sequence[JudgedAnswer]) -> JudgedSummary:
    """The counts of a judged run."""
    outcomes = Counter(one.recorded.verdict.outcome for one in judged)
    asked = [(one.recorded.verdict.outcome, one.judgement) for one in judged if one.judgement is not None]
    left = [judgement for outcome, judgement in asked if outcome == "undecided"]
    pairs = [
        (outcome == "right", one.score == 1)
        for outcome, one in asked
        if outcome != "undecided" and one.score is not None
    ]
    repeats = [one.agreement for _, one in asked if one.agreement is not None]
    right, count = outcomes["right"], max(len(judged), 1)
    judged_right = sum(one.score == 1 for one in left)
    open_ = outcomes["undecided"] - sum(one.score is not None for one in left)
    costs = [one.cost_usd for _, one in asked]
    return JudgedSummary(
        answers=len(judged),
        right=right,
        wrong=outcomes["wrong"],
        undecided=outcomes["undecided"],
        judged_right=judged_right,
        judged_wrong=sum(one.score == 0 for one in left),
        states=dict(Counter(str(one.state) for one in left)),
        accuracy_by_rule=right / count,
        accuracy_low=(right + judged_right) / count,
        accuracy_high=(right + judged_right + open_) / count,
        compared=len(pairs),
        agreement_with_rules=sum(rule == judge for rule, judge in pairs) / len(pairs) if pairs else None,
        agreement_of_repeats=sum(repeats) / len(repeats) if repeats else None,
        calls=sum(one.calls for _, one in asked),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
