"""What an agent's program uses to read its task and to submit. Needs only NumPy.

A task's ``interface.py`` is made of this; a program normally imports that module instead::

    import interface

    inputs, targets = interface.load_train()
    for window in interface.iter_test():
        window.predict(model(window.inputs))

or, for a task whose hidden items have no time::

    feedback = interface.submit(predictions)

or, for a task that is stepped through::

    env = interface.make()
    observation, info = env.reset()
    observation, reward, terminated, truncated, info = env.step(action)
"""

from openfingym_agent.environment import Environment, EpisodesExhausted
from openfingym_agent.feedback import Feedback
from openfingym_agent.graph import Graph, SparseRows
from openfingym_agent.interface import Budget, Interface
from openfingym_agent.transport import SubmissionRefused, VerifierUnavailable
from openfingym_agent.walk import Window

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
    "Window",
]
