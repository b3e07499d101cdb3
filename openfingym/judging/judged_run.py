"""A run's answers with a judge: what rules decided, what the judge made of the rest, and how far both agree."""

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
    """The answer with its question, its reference and the rule's verdict."""
    judgement: Judgement | None
    """What the judge made of it; None where it was not asked."""

    def to_json(self, *, replies: bool = False) -> dict[str, object]:
        """The answer as a line of ``judgements.jsonl``.

        Args:
            replies: whether the texts of the judge's replies are in it, which may tell the truth.
        """
        answer, judged = self.recorded, self.judgement
        line: dict[str, object] = {
            "rollout": answer.rollout,
            "question": answer.question.id,
            "group": list(answer.reference.group),
            # Not the answer itself, which may be right: whoever has the run can find it by the digest.
            "answer_sha256": sha256_of_text(answer.answer),
            "rule": {"outcome": answer.verdict.outcome, "state": answer.verdict.state, "rule": answer.verdict.rule},
            "judge": None,
        }
        if judged is not None:
            stated = {
                name: getattr(judged, name) for name in ("score", "state", "agreement", "protocol", "calls", "cost_usd")
            }
            texts = {"replies": list(judged.replies)} if replies else {}
            line["judge"] = {**stated, "reason": judged.reason, **texts}
        return line


@dataclass(frozen=True)
class JudgedSummary:
    """The counts and accuracies of a run whose answers were judged."""

    answers: int
    right: int
    """Answers that a rule has found right: these alone are in the verified score."""
    wrong: int
    """Answers that a rule has found wrong."""
    undecided: int
    """Answers that no rule can decide."""
    judged_right: int
    """Undecided answers to which the judge gave 1."""
    judged_wrong: int
    """Undecided answers to which the judge gave 0."""
    states: dict[str, int]
    """How many judgements of undecided answers ended in each state."""
    accuracy_by_rule: float
    """Share of all answers that a rule has found right."""
    accuracy_low: float
    """Share of all answers that a rule or the judge has found right; answers without a score count as wrong."""
    accuracy_high: float
    """The same share, where answers without a score count as right."""
    compared: int
    """Answers that a rule has decided, and to which the judge gave a score too."""
    agreement_with_rules: float | None
    """Share of the compared answers of which rule and judge say the same; None where none were compared."""
    agreement_of_repeats: float | None
    """Mean share of an answer's repeated judgements that agree with its score; None where there are none."""
    calls: int
    """Requests to the judge's model."""
    cost_usd: float | None
    """US dollars of all requests; None where the price of the model is not known."""


def chosen(answers: Sequence[RecordedAnswer], sample: int, limit: int | None = None) -> list[bool]:
    """Which answers are judged: those that no rule decides, and some of the others, the same ones every time.

    Args:
        answers: the recorded answers of a run.
        sample: how many answers that a rule has decided are judged too.
        limit: most undecided answers that are judged; None for all.
    """
    undecided = [place for place, answer in enumerate(answers) if answer.verdict.outcome == "undecided"][:limit]
    decided = [place for place, answer in enumerate(answers) if answer.verdict.outcome != "undecided" and answer.answer]
    # By a digest, which is as good as by chance, and the same whenever and in whatever order they are read.
    order = sorted(decided, key=lambda place: sha256_of_text(f"{answers[place].rollout} {answers[place].question.id}"))
    judged = {*order[:sample], *undecided}
    return [place in judged for place in range(len(answers))]


async def judge_run(
    judge: Judge, answers: Sequence[RecordedAnswer], *, sample: int = 0, limit: int | None = None, concurrency: int = 8
) -> list[JudgedAnswer]:
    """Judge a run's answers.

    Args:
        judge: the model that judges.
        answers: the recorded answers of the run.
        sample: how many answers that a rule has decided are judged besides, to see how far both agree.
        limit: most answers that are judged of those that no rule has decided; None for all.
        concurrency: how many answers are judged at once.

    Raises:
        ModelUnavailableError: the model cannot be asked.
    """
    gate = asyncio.Semaphore(concurrency)

    async def judged(answer: RecordedAnswer, wanted: bool) -> JudgedAnswer:
        if not wanted:
            return JudgedAnswer(answer, None)
        async with gate:
            return JudgedAnswer(answer, await judge.judge(answer.question.text, answer.reference, answer.answer))

    wanted = chosen(answers, sample, limit)
    return list(await asyncio.gather(*(judged(answer, want) for answer, want in zip(answers, wanted, strict=True))))


def summary(answers: Sequence[JudgedAnswer]) -> JudgedSummary:
    """The counts and accuracies of a judged run."""
    outcomes = Counter(answer.recorded.verdict.outcome for answer in answers)
    asked = [(answer.recorded.verdict.outcome, answer.judgement) for answer in answers if answer.judgement is not None]
    undecided = [judgement for outcome, judgement in asked if outcome == "undecided"]
    pairs = [
        (outcome == "right", judgement.score == 1)
        for outcome, judgement in asked
        if outcome != "undecided" and judgement.score is not None
    ]
    repeats = [judgement.agreement for _, judgement in asked if judgement.agreement is not None]
    right, count = outcomes["right"], max(len(answers), 1)
    judged_right = sum(judgement.score == 1 for judgement in undecided)
    # Neither rule nor judge has a score for these: the accuracy is known up to them.
    unscored = outcomes["undecided"] - sum(judgement.score is not None for judgement in undecided)
    costs = [judgement.cost_usd for _, judgement in asked]
    return JudgedSummary(
        answers=len(answers),
        right=right,
        wrong=outcomes["wrong"],
        undecided=outcomes["undecided"],
        judged_right=judged_right,
        judged_wrong=sum(judgement.score == 0 for judgement in undecided),
        states=dict(Counter(str(judgement.state) for judgement in undecided)),
        accuracy_by_rule=right / count,
        accuracy_low=(right + judged_right) / count,
        accuracy_high=(right + judged_right + unscored) / count,
        compared=len(pairs),
        agreement_with_rules=sum(rule == judge for rule, judge in pairs) / len(pairs) if pairs else None,
        agreement_of_repeats=sum(repeats) / len(repeats) if repeats else None,
        calls=sum(judgement.calls for _, judgement in asked),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
