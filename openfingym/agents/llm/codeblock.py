"""A conversation in programs: one block of code a turn, whose output is the next thing the model reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from openfingym.agents.llm.asking import Sampling
from openfingym.agents.llm.blocks import first_block
from openfingym.agents.llm.prompts import METHODS, ROLE
from openfingym.agents.llm.session import Conversation

SYSTEM = f"""{ROLE}
You work in a folder, /work, by programs: write one code block a turn, fenced and marked `python`. It is run as a
process of its own, and what it prints comes back to you; files in /work stay, variables do not. \
Where the task speaks of one
program that runs once: you may run many, one after the other, and each has the time that the task states. \
When the task is answered and
you are content, write a message without a code block.

{METHODS}"""


@dataclass(frozen=True)
class CodeBlock:
    """Runs the first block of each answer, until an answer has none and the task is answered."""

    system: str = SYSTEM
    """System message."""
    sampling: Sampling = field(default_factory=Sampling)
    takes_steps = False

    async def act(self, session: Conversation) -> None:
        """See :class:`openfingym.agents.llm.ModelAgent`."""
        session.instruct(self.system)
        session.present()
        while not session.tools.complete:
            answer = await session.ask(sampling=self.sampling)
            program = first_block(answer.content)
            if program is None:
                if await session.conclude():
                    return
                continue
            await session.run_program(program)
