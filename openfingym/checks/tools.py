"""Whether tools tell the truth of a question that is still unanswered.

Questions are asked one after another, each with tools as of its time. At every time at which tools are opened, they are
asked for the truths of the questions that are unanswered then, the open one among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from openfingym.checks.finding import FailedCheckError, Progress, silent
from openfingym.kinds.qa import vault_of
from openfingym.kinds.qa_contract import qa_contract
from openfingym.suites.suite import SuiteQuestion, require_order

if TYPE_CHECKING:
    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage

PER_TIME = 24
"""Most unanswered questions whose truths are asked for at one time: the next ones, and others spread over the rest."""


def unanswered_truths(package: BuiltPackage, hidden: Mapping[str, Array], progress: Progress = silent) -> str:
    """Check the order of the questions of a built package, and ask its tools for what is not answered yet.

    Args:
        package: the built package of a task of the kind ``qa``.
        hidden: its hidden arrays by name.
        progress: called with what is being done.

    Returns:
        What was found, as a sentence.

    Raises:
        FailedCheckError: a tool tells the truth of a question that is unanswered.
        DataError: questions are not in the order of their times.
    """
    contract, n_public = qa_contract(package.task.spec.contract), package.manifest.n_public
    suite, options = contract.asked_by, contract.chosen
    train, asked = (_questions(package.array(f"{part}_questions")) for part in ("train", "test"))
    require_order(train, asked, n_public)
    ordered = f"{len(asked)} questions are in the order of their times"
    if not contract.tools:
        return f"{ordered}; there are no tools"
    if contract.hindsight:
        return f"{ordered}; the tools look ahead, as the task says"
    if suite.of_the_past:
        return f"{ordered}; each is about what was known when it is asked, so that its tools are to tell it"
    calls = cache(lambda place: tuple(suite.revealing(asked[place], options)))
    if not any(calls(place) for place in range(len(asked))):
        return f"{ordered}; unknown whether tools tell a truth early: the suite {suite.name} does not say what to call"
    vault = vault_of(contract, str(package.array("snapshot")[0]), hidden)
    # The first question of each time has the most of them unanswered.
    places = [place for place, one in enumerate(asked) if place in (0, n_public) or one.as_of != asked[place - 1].as_of]
    made = 0
    for place in places:
        progress(f"as of {asked[place].as_of}")
        # Whoever practises has both folds before it, and whoever plays has the private one.
        left = range(place, len(asked))
        chosen = {*left[: PER_TIME // 2], *left[:: max(1, 2 * len(left) // PER_TIME)]}
        lookup = suite.lookup(vault, asked[place], options)
        for other in sorted(chosen):
            replies = [lookup(name, arguments) for name, arguments in calls(other)]
            made += len(replies)
            if replies and suite.reveals(asked[other], hidden["targets"][other], replies):
                raise FailedCheckError(
                    f"as of question {place + 1} ({asked[place].id!r}, {asked[place].as_of}) the tools tell the truth "
                    f"of question {other + 1} ({asked[other].id!r}), which is unanswered then: {replies[0].text[:200]}"
                )
    return f"{ordered}; {made} calls at {len(places)} times tell no truth of a question that is unanswered then"


def _questions(texts: Array) -> tuple[SuiteQuestion, ...]:
    return tuple(SuiteQuestion.from_json(str(text)) for text in texts)
