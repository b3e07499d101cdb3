"""The stages ``screen`` and ``read``: whether a paper is in scope, and whether it says enough for a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openfingym_forge.blueprint import Quotation
from openfingym_forge.paper import Paper
from openfingym_forge.papers.injections import instructions
from openfingym_forge.prompts import AnswerError, ask_for, of_json, render
from openfingym_forge.quoting import LONGEST, QuotedText
from openfingym_forge.stage import CandidateTask, RejectionReason, StageResult

_ROOM = "openfingym_forge.papers"
FAMILIES = ("forecasting", "generation", "fraud", "trading")
"""Families of tasks that a paper may be about."""
_MOST_SHOWN = 200_000
"""Characters of a paper that a model is shown by stage ``read``."""
# The code of a refusal, and what was expected, for each question.
_MEANING = {
    "protocol": ("no-protocol", "an experimental protocol (what is predicted, how data are split, over which horizon)"),
    "metrics": ("no-metric", "a metric that is defined well enough to be computed"),
    "public_data": ("no-public-data", "a data set that anybody may obtain"),
}


@dataclass(frozen=True)
class _Verdict:
    """A model's answer to one question about a paper."""

    holds: bool
    why: str
    quotations: tuple[Quotation, ...]
    """Words of the paper that the answer rests on, each of which is in its text."""
    family: str = ""
    """Family of the paper's task; empty where that is not asked for."""


class ScreenStage:
    """Is the paper, by title and abstract, about a task of quantitative finance?"""

    name = "screen"

    def run(self, candidate: CandidateTask) -> StageResult:
        """Ask the generator; its quotations must stand in the title or the abstract."""
        paper = candidate.paper
        if paper.language not in {"en", "und"}:
            reason = RejectionReason(
                "language", f"its text is in the language {paper.language!r}; papers in English are read"
            )
            return StageResult(self.name, "refused", (reason,))
        shown = f"{paper.title}\n\n{paper.abstract or _opening(paper)}"
        end = _end_of(paper, shown)
        prompt = render(_ROOM, "screen", text=shown, families=FAMILIES)
        quoted = QuotedText(paper)
        answer = ask_for(
            candidate.asking, "generator", self.name, prompt, of_json(lambda value: _screened(value, quoted, end))
        )
        if answer.value is None:
            return _malformed(self.name, answer.why)
        verdict = answer.value
        facts = {"family": verdict.family, "why": verdict.why, "tries": len(answer.complaints) + 1}
        if verdict.holds:
            noted = RejectionReason("in-scope", verdict.why or "in scope", verdict.quotations)
            return StageResult(self.name, "passed", notes=(noted,), facts=facts)
        reason = RejectionReason("out-of-scope", verdict.why, verdict.quotations)
        return StageResult(self.name, "refused", (reason,), facts=facts)


class ReadStage:
    """Does the full text have a protocol, a metric and public data?"""

    name = "read"

    def run(self, candidate: CandidateTask) -> StageResult:
        """Ask the generator; its quotations must stand in the text."""
        paper = candidate.paper
        text = QuotedText(paper)
        prompt = render(_ROOM, "read", text=paper.text[:_MOST_SHOWN])
        answer = ask_for(candidate.asking, "generator", self.name, prompt, of_json(lambda value: _read(value, text)))
        notes = instructions(paper)
        if answer.value is None:
            return _malformed(self.name, answer.why, notes)
        reasons = tuple(
            RejectionReason(
                _MEANING[name][0],
                f"{verdict.why or 'the text has none'}; expected {_MEANING[name][1]}",
                verdict.quotations,
            )
            for name, verdict in answer.value.items()
            if not verdict.holds
        )
        present = tuple(
            RejectionReason(f"has-{name.replace('_', '-')}", verdict.why or _MEANING[name][1], verdict.quotations)
            for name, verdict in answer.value.items()
            if verdict.holds
        )
        facts: dict[str, object] = {name: verdict.holds for name, verdict in answer.value.items()}
        facts["tries"] = len(answer.complaints) + 1
        return StageResult(self.name, "refused" if reasons else "passed", reasons, notes + present, facts)


def _opening(paper: Paper) -> str:
    """What is shown in place of an abstract where there is none: the beginning of the text behind the title."""
    return paper.text.removeprefix(paper.title).strip()[:2000]


def _end_of(paper: Paper, shown: str) -> int:
    """Offset in the paper's text behind all that was shown, within which quotations have to stand."""
    # The last words tell the place; where the text does not have them, all of it is allowed.
    last = shown.rstrip()[-60:]
    at = paper.text.find(last)
    return at + len(last) if at >= 0 else len(paper.text)


def _malformed(stage: str, why: str, notes: tuple[RejectionReason, ...] = ()) -> StageResult:
    return StageResult(stage, "refused", (RejectionReason("malformed-answer", why),), notes)


def _screened(value: object, text: QuotedText, end: int) -> _Verdict:
    """The answer to ``screen``, checked."""
    verdict = _verdict(value, "in_scope", text, "", end)
    # Checked by the line above; this tells the type checker.
    assert isinstance(value, dict)
    family = value.get("family")
    if verdict.holds and family not in FAMILIES:
        raise AnswerError(f'"family": found {family!r}, expected one of {", ".join(FAMILIES)}')
    return _Verdict(verdict.holds, verdict.why, verdict.quotations, family if isinstance(family, str) else "")


def _read(value: object, text: QuotedText) -> dict[str, _Verdict]:
    """The answers to ``read`` by question, checked; everything wrong with them is reported at once."""
    if not isinstance(value, dict):
        raise AnswerError("expected a JSON object with protocol, metrics and public_data")
    problems, verdicts = [], {}
    for name in _MEANING:
        try:
            verdicts[name] = _verdict(value.get(name), "found", text, f"{name}: ", None)
        except AnswerError as error:
            problems.append(str(error))
    if problems:
        raise AnswerError("\n".join(problems))
    return verdicts


def _verdict(value: Any, key: str, text: QuotedText, where: str, end: int | None) -> _Verdict:
    """A verdict, each of whose quotations is in the text.

    Args:
        value: the answer, as JSON has it.
        key: name of the answer's yes or no.
        text: text of the paper, in which quotations are looked for.
        where: words with which each complaint begins.
        end: offset behind which no quotation may stand; None for anywhere.

    Raises:
        AnswerError: the answer is malformed, or has a quotation that is not in the text: it may be invented whole.
    """
    if not isinstance(value, dict) or not isinstance(value.get(key), bool):
        raise AnswerError(f'{where}expected an object with "{key}" as true or false')
    why, quotes = value.get("why", ""), value.get("quotations")
    if not isinstance(why, str) or not isinstance(quotes, list) or not all(isinstance(one, str) for one in quotes):
        raise AnswerError(f'{where}expected "why" as a text and "quotations" as a list of texts')
    if value[key] and not quotes:
        raise AnswerError(f"{where}what is found needs at least one quotation")
    if not value[key] and not why.strip():
        raise AnswerError(f'{where}what is not found needs a reason in "why"')
    quotations, problems = [], []
    # The first ten are enough, and bound what an answer costs to check.
    for quote in quotes[:10]:
        quotation = text.find(quote, before=end)
        if quotation is None:
            problems.append(
                f"{where}the text has no such words (at most {LONGEST} characters, exactly as there): {quote[:120]!r}"
            )
        else:
            quotations.append(quotation)
    if problems:
        raise AnswerError("\n".join(problems))
    return _Verdict(value[key], why.strip()[:500], tuple(quotations))
