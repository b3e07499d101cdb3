"""A stand-in for a language model: a local server that speaks chat completions and answers by fixed rules.

    with StandIn() as stand_in:
        client = openai.OpenAI(base_url=stand_in.base_url, api_key="none")

A model's name is ``stand-in/POLICY``, or ``stand-in/POLICY+FAULT`` or ``+FAULT:TIMES``, where the first
``TIMES`` requests meet the fault and later ones do not. The header ``x-stand-in-fault`` does the same
for one request. Answers depend on the request and its ``seed`` alone.

=============  ===========================================================================================
competent      solves the task: looks, runs a program fit for its kind, submits; steps where it may step
careless       answers in a wrong shape first, and mends it
broken         answers rubbish, another sort every turn; ``broken-SORT`` one sort (:data:`broken.SORTS`)
hostile        tries to see the truth, the network and secrets, and to probe (:mod:`hostile`)
fixed:TEXT     answers TEXT, whatever is asked; all that follows the colon is the text, so no fault can be named
=============  ===========================================================================================

**Forms of conversation.** A policy tells them by the request:

- *tools*: ``tools`` is not empty. Calls are native.
- *text*: the system message holds :data:`openfingym.models.text_tools.MARKER`. Calls are text, as there.
- *blocks*: the system message says "one code block a turn". An answer holds one block fenced as
  ``python``, which is run in the task's container; what it prints is the next user's message. An
  answer without a block ends the conversation.
- *single*: anything else. The answer holds one block, the whole program.

The task's brief, ``instruction.md``, stands in a system's or a user's message; with tools, a policy that
finds none reads ``/task/instruction.md``.

**Tools**, by the names and arguments that policies use:

- ``run_python(code)``: runs a program in ``/work``, with the task's ``interface``; answers what it prints.
- ``read_file(path)``, ``write_file(path, content)``: in the container.
- any tool with an argument ``command``, where ``run_python`` is not offered: a shell, in which it runs programs that
  submit by themselves.
- ``submit(path)``: submits the array in a ``.npy`` file below ``/work``; answers the feedback or what is wrong.
- ``start_episode(practice)``: begins an episode of a sequential task, and answers the first observation. Without
  this tool, whoever offers ``step`` has begun.
- ``step(action)``, or ``step(action, wait)``: the next action of a sequential task, a JSON value as the
  task's instruction has it, null to do nothing; then ``wait`` steps with nothing done; answers the next
  observation. Whoever offers the tool ends the conversation when the last episode is over. Where it is
  offered, policies step; else they run a program that steps.
"""

from __future__ import annotations

from openfingym.models.testing.conversation import BLOCKS_MARKER, Call, CompletionRequest, Reply
from openfingym.models.testing.faults import Fault
from openfingym.models.testing.policies import POLICIES, StandInPolicy, find_policy, known_models
from openfingym.models.testing.server import FAULT_HEADER, StandIn

__all__ = [
    "BLOCKS_MARKER",
    "FAULT_HEADER",
    "POLICIES",
    "Call",
    "CompletionRequest",
    "Fault",
    "Reply",
    "StandIn",
    "StandInPolicy",
    "find_policy",
    "known_models",
]
