"""One completion, one program, run once as a program of the user's own would be: the paper's setting."""

from __future__ import annotations

from dataclasses import dataclass, field

from openfingym.agents.llm.asking import Sampling
from openfingym.agents.llm.blocks import longest_block
from openfingym.agents.llm.ending import Ended
from openfingym.agents.llm.prompts import METHODS, ROLE, SAFE
from openfingym.agents.llm.session import Conversation

SYSTEM = f"""{ROLE}
Answer with one complete Python program in a single fenced block marked `python`. It is run once, as it stands; you do
not see what it prints, and there is no second answer. \
It must load the data, fit, and answer the task through `interface`.

{METHODS}
{SAFE}"""


@dataclass(frozen=True)
class OneShot:
    """Asks once, and runs the program in the answer."""

    system: str = SYSTEM
    """System message."""
    sampling: Sampling = field(default_factory=Sampling)
    takes_steps = False

    async def act(self, session: Conversation) -> None:
        """See :class:`openfingym.agents.llm.ModelAgent`."""
        session.instruct(self.system)
        session.present()
        answer = await session.ask(once=True, sampling=self.sampling)
        program = longest_block(answer.content)
        if program is None:
            raise Ended("no-program", "its answer without a program")
        await session.run_once(program)
