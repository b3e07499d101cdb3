"""What an agent's program uses to read its task and to submit. Needs only NumPy.

A task's ``interface.py`` is made of this; a program normally imports that module instead::

    import interface

    inputs, targets = interface.load_train()
    feedback = interface.submit(predictions)

or, for a task that is stepped through::

    env = interface.make()
    observation, info = env.reset()
    observation, reward, terminated, truncated, info = env.step(action)
"""

from openfingym_agent.environment import Environment, EpisodesExhausted
from openfingym_agent.graph import Graph, SparseRows
from openfingym_agent.interface import Budget, Feedback, Interface
from openfingym_agent.transport import SubmissionRefused, VerifierUnavailable

__all__ = [
    "Budget",
    "Environment",
    "EpisodesExhausted",
    "Feedback",
    "Graph",
    "Interface",
    "SparseRows",
    "SubmissionRefused",
    "VerifierUnavailable",
]
