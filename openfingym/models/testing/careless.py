"""A policy that first answers in a wrong shape, and corrects it once it is told."""

from __future__ import annotations

from dataclasses import replace

from openfingym.models.testing.brief import InstructionFacts
from openfingym.models.testing.competent import Competent, block, step
from openfingym.models.testing.conversation import Call, CompletionRequest, Reply, asks_in_words

HASTY = "import interface\nimport numpy as np\n\nanswer = np.zeros(interface.SUBMISSION_SHAPE)[1:]\n"
HASTY_SUBMIT = f"{HASTY}print(interface.submit(answer))\n"
HASTY_SAVE = f'{HASTY}np.save("predictions.npy", answer)\n'
HASTY_WALK = (
    "import interface\nimport numpy as np\n\nfor window in interface.iter_test(practice=True):\n"
    "    window.predict(np.zeros((*window.shape, 2)))\n"
)
HASTY_STEPS = "import interface\n\nenv = interface.make()\nenv.reset()\nenv.step([1, 2, 3])\n"
BAD_ANSWERS = (
    "Relations between the two will surely be as they were.",
    'Thought: clear.\nAction: Final Answer: {"01": ["010", "0',
    'Thought: clear.\nAction: Final Answer: {"99": ["999"]}',
    "",
)
"""Prose, JSON without an end, codes that do not exist, and nothing."""


class Careless:
    """Does one thing wrong, and from then on what :class:`Competent` does."""

    def __init__(self) -> None:
        self._careful = Competent()

    def respond(self, request: CompletionRequest) -> Reply:
        """Continue the conversation."""
        if asks_in_words(request):
            return Reply(BAD_ANSWERS[request.seed % 4]) if request.turn == 0 else self._careful.respond(request)
        brief = InstructionFacts.read(request.text)
        if request.form in {"tools", "text"}:
            return self._with_tools(request, brief)
        if request.turn == 0:
            return Reply(f"This must be it.\n\n{block(_hasty(brief, HASTY_SUBMIT))}")
        if brief is not None and request.turn == 1:
            return Reply(f"The shape was wrong; now it is right.\n\n{block(brief.program())}")
        return self._careful.respond(request)

    def _with_tools(self, request: CompletionRequest, brief: InstructionFacts | None) -> Reply:
        if brief is None:
            return self._careful.respond(request)
        if brief.sequential and "step" in request.tools:
            if not request.called("step"):
                begun = "start_episode" not in request.tools or request.called("start_episode")
                return Reply("All in.", (Call("step", {"action": [1, 2, 3]}),)) if begun else step(request, brief)
            if request.called("step") == 1:
                return replace(step(request, brief), content="The form was wrong; now it is right.")
            return self._careful.respond(request)
        runs = request.called("run_python")
        submits = "submit" in request.tools and not (brief.sequential or brief.walks)
        if runs == 0:
            hasty = _hasty(brief, HASTY_SAVE if submits else HASTY_SUBMIT)
            return Reply("This must be it.", (Call("run_python", {"code": hasty}),))
        if submits and runs == 1 and not request.called("submit"):
            return Reply("Done at once.", (Call("submit", {"path": "predictions.npy"}),))
        # The first submission was the hasty one: the careful policy, which submits once, has yet to make its own.
        shown = request if not submits else _without_first(request, "submit")
        return self._careful.respond(shown)


def _hasty(brief: InstructionFacts | None, array: str) -> str:
    """The program that is wrong: the one given, where an array is what is wanted."""
    if brief is None:
        return array
    return HASTY_STEPS if brief.sequential else HASTY_WALK if brief.walks else array


def _without_first(request: CompletionRequest, tool: str) -> CompletionRequest:
    """The conversation as if a tool had not yet been called for the first time."""
    for index, message in enumerate(request.messages):
        if any(call.name == tool for call in message.tool_calls):
            others = replace(message, tool_calls=tuple(call for call in message.tool_calls if call.name != tool))
            return replace(request, messages=(*request.messages[:index], others, *request.messages[index + 1 :]))
    return request
