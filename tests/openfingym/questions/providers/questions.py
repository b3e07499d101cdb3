"""Questions for the tests of providers."""

from __future__ import annotations

from openfingym.questions import Question, moment_ns
from openfingym.questions.question import Form

HOUR = 3600 * 10**9
DAY = 24 * HOUR
END = moment_ns("2026-11-20T22:00:00Z")


def ask(provider: str, query: dict[str, str | float], form: Form = "probability", *, end: int = END, **more: object):
    """A question that was made three days before its end, and is answered until a day before it."""
    if form in {"probabilities", "choice"}:
        more.setdefault("outcomes", ("Yes", "No"))
    if form in {"quantiles", "interval"}:
        more.setdefault("levels", (0.9,) if form == "interval" else (0.1, 0.5, 0.9))
    more.setdefault("id", f"{provider}-1")
    return Question(
        text="What will be?",
        form=form,
        generated_ns=end - 3 * DAY,
        deadline_ns=end - DAY,
        evaluation_ns=end,
        provider=provider,
        query=query,
        **more,
    )
