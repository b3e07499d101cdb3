"""An agent of one's own that asks a language model: it plans first, then works in programs.

Run it with::

    python examples/llm_agent.py                                  # the stand-in model, which needs no key
    python examples/llm_agent.py gpt-4.1-mini                     # $OPENAI_API_KEY
    python examples/llm_agent.py my-model http://localhost:8000/v1

An agent is anything with ``act(session)``. The session keeps the conversation, runs programs in the container, counts
what is spent and ends the agent at its limits; it submits nothing by itself.
"""

import sys
from dataclasses import dataclass

import openfingym
from openfingym.agents import Agent, Conversation, first_block
from openfingym.models import Allowance, ModelSpec


@dataclass(frozen=True)
class Planner:
    """Asks for a plan, then for one code block a turn."""

    system: str = (
        "You forecast financial series. Write one code block a turn, fenced and marked `python`; you see what it "
        "prints."
    )
    takes_steps = False  # in a task that is stepped through, its programs take the steps

    async def act(self, session: Conversation) -> None:
        """Plan, then run what the model writes until it writes no more."""
        session.instruct(self.system)
        session.present("State a plan in three lines, and begin.")  # the task's instruction, this, and the limits
        while not session.tools.complete:
            answer = await session.ask()
            program = first_block(answer.content)
            if program is None:
                if await session.conclude():  # it says that it is done: has it submitted?
                    return
                continue
            found = await session.tools.run(program)
            session.useful()
            session.tell(f"Output:\n{found.text}")


name, base_url = (*sys.argv[1:], None, None)[:2]
result = openfingym.run(
    "treasury-forecast",
    agent=Agent("planner", "model", acts=Planner()),
    model=ModelSpec.parse(name or "stand-in/competent", base_url=base_url),
    allowance=Allowance(turns=15, tokens=200_000),
)
print(
    f"{result.state}: loss {result.total}, relative to the baseline {result.relative_total}; "
    f"{result.reason or 'no complaints'}"
)
print(
    f"{result.turns} answers, {result.prompt_tokens} + {result.completion_tokens} tokens; {result.path}/trajectory.json"
)
