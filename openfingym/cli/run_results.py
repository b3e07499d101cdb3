"""Printing results as ``openfingym run`` does, and the exit status that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from openfingym.cli.printable import printable, say
from openfingym.cli.render import number, print_table, typed, with_interval

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

POLICIES = {
    (
        "strict",
        "rounded",
    ): "policy: strict, season {season}: shown no finer than the sampling error, moved towards the baseline",
    (
        "strict",
        "held",
    ): "policy: strict, season {season}: held until the season is closed; the first walk or episode of a task is "
    "entered of itself, `openfingym verifier enter` enters an array, and `openfingym verifier collect` fetches it then",
    ("strict", "full"): "policy: strict, season {season}: shown as it was computed",
    ("local", "full"): "policy: local: shown as it was computed, to the user of the machine on which the labels lie",
}
"""Lines about the verifier's policy and how much of the results it shows, by policy and disclosure."""
TAPES = {
    "fresh": "fresh tape: its hidden data were drawn for this rollout, and the baseline is scored on them as well",
    "twin": "twin tape: its hidden bars were resampled from real ones, and the baseline is scored on them as well",
}
"""Lines about rollouts that were not on the package's own hidden data, by tape."""


def split_line(split: str, instance: int | None = None) -> str:
    """A line about rollouts on instances.

    Args:
        split: split of the instances.
        instance: number of the instance; None for several.
    """
    which = f"instance {instance}" if instance is not None else "instances"
    return f"{which} of the split {split}, cut from training data: no score, and in no report of scores"


def session_line(session: Mapping[str, object]) -> str:
    """A line about a live session, as the verifier states it."""
    venue = (
        f"a SIMULATED venue that speaks {session['venue']}'s protocols" if session["simulated"] else session["venue"]
    )
    early = "; its agent left early, and was sold out" if session["left_early"] else ""
    return (
        f"a session of {session['duration_s']} s on {venue}, a bar each {session['interval_s']} s, "
        f"{session['incomplete_bars']} bars with missing trades{early}"
    )


def questions_line(questions: Mapping[str, object] | str) -> str:
    """A line about the questions of a rollout, as the verifier states them."""
    if isinstance(questions, str):
        return (
            f"questions {questions} alone, on which the baseline is scored as well: to be compared with results on the "
            "same ones"
        )
    kind = "SIMULATED questions" if questions["simulated"] else "questions of the real market"
    counts = ", ".join(f"{questions[name]} {name}" for name in ("scored", "void", "open"))
    later = (
        f"; from {questions['resolved_from']} on `openfingym ledger resolve` resolves the last of them, and "
        "`openfingym ledger sync` brings the score into this folder"
        if questions["open"]
        else ""
    )
    return f"asked {questions['asked']} {kind}: {counts}{later}"


def exit_status(results: list[RolloutResult]) -> int:
    """4 if any rollout ended in an error of ours, else 3 if any was rejected, else 0."""
    # What is deferred or void is nobody's fault.
    states = {result.state for result in results}
    return 4 if "error" in states else 3 if "rejected" in states else 0


def print_results(results: list[RolloutResult]) -> None:
    """Print a table of results, what there is no column for, and what the figures mean."""
    from openfingym.adversarial.marks import skill_of

    print_table(
        "",
        ["task", "data", "agent", "state", "total", "baseline", "relative total", "skill", "tries", "seconds", "where"],
        [
            (
                r.task,
                r.data_kind,
                r.agent_label,
                r.state,
                with_interval(r.total, r.total_interval),
                "-" if r.baseline is None else f"{r.baseline} {number(r.baseline_total)}",
                with_interval(r.relative_total, r.relative_interval),
                skill_of(r) or "-",
                f"{r.submissions_accepted}/{r.budget}",
                f"{r.wall_s:.1f}",
                r.backend,
            )
            for r in results
        ],
        right=["total", "baseline", "relative total", "tries", "seconds"],
        optional=["where", "seconds", "tries", "agent", "baseline"],
    )
    for result in results:
        _print_notes(result)
    _print_legend(results)
    say(f"details: {typed(results[0].path)}" + (f" and {len(results) - 1} more beside it" if len(results) > 1 else ""))
    if any(result.turns for result in results):
        say(f"read what was done: openfingym view {typed(results[0].path)}")


def _print_notes(result: RolloutResult) -> None:
    """Print what the table has no column for: the model, the reason, the data of the rollout, and flags."""
    if result.turns:
        cost = "cost unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
        tokens = f"{result.prompt_tokens} + {result.completion_tokens} tokens"
        say(f"{result.task}: {result.model or 'its own model'}: {result.turns} answers, {tokens}, {cost}")
    if result.reason:
        say(f"{result.task}: {result.state}: {printable(result.reason)}")
    if result.split != "test":
        say(f"{result.task}: {split_line(result.split, result.instance)}")
    if result.tape != "given":
        say(f"{result.task}: {TAPES[result.tape]}")
    if result.session is not None:
        say(f"{result.task}: {session_line(result.session)}")
    if result.questions is not None:
        say(f"{result.task}: {questions_line(result.questions)}")
    if result.isolation == "outside":
        from openfingym.results.result import ISOLATION_IN_WORDS

        say(f"{result.task}: in isolation ran {ISOLATION_IN_WORDS[result.isolation]}")
    for flag in result.flags:
        say(f"{result.task}: flagged by the verifier: {flag}")


def _print_legend(results: list[RolloutResult]) -> None:
    """Print what the figures of the table mean, and under which policy they are shown."""
    from openfingym.adversarial.marks import meanings_of, skill_of

    say("total: the task's loss, the source paper's where it has one, verified on the private fold, lower is better")
    say(
        "relative total: each metric's loss over the baseline's, geometric mean; 1 is the baseline, lower is better; "
        "this one ranks"
    )
    verifier_s = [result.verifier_s for result in results if result.verifier_s is not None]
    if verifier_s:
        say(f"seconds: the agent's own; the verifier took {sum(verifier_s):.1f} s beside them")
    if any(result.relative_interval for result in results):
        say(
            "[low, high]: 95 % interval; where that of the relative total holds 1, agent and baseline cannot be told "
            "apart"
        )
    for meaning in meanings_of(map(skill_of, results)):
        say(meaning)
    for policy, disclosure, season in dict.fromkeys(
        (result.policy, result.disclosure, result.season) for result in results
    ):
        if policy is not None and disclosure is not None:
            say(POLICIES[policy, disclosure].format(season=season))
    if shown := max((result.shown_before for result in results), default=0):
        say(f"shown before: hidden data of these rollouts, in up to {shown:,} earlier ones of the same party")
    if replayed := sum(result.may_know for result in results):
        say(f"replayed: {replayed:,} of them, whose agents may know the hidden data from there; reports rank none")
