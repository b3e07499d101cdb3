"""Reading a task's instruction as a model would: its kind, its symbols, and a program that answers it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Way:
    """How one kind of task is answered."""

    sign: str
    """Words that only the instruction of this kind has."""
    action: Callable[[int], dict[str, list[float]]] | None = None
    """Makes a first action from the number of symbols; None for a task that is not stepped through."""
    waits: bool = False
    """Whether steps may pass without another action."""


WAYS: Mapping[str, Way] = {
    # Rounded down to four decimals, so that the weights never add up to more than 1.
    "trading": Way(
        'action = {"weights"', lambda width: {"weights": [round(1.0 / width - 5e-5, 4)] * width}, waits=True
    ),
    "rolling": Way('action = {"predictions"', lambda width: {"predictions": [0.001] * width}),
    "curves": Way("lower, central, upper"),
    "generation": Way("contexts, windows = interface.load_train()"),
    "graphs": Way("graphs, labels = interface.load_train()"),
    "nodes": Way("nodes, labels = interface.load_train()"),
    "rows": Way("features, returns = interface.load_train()"),
    "questions": Way("inputs, outcomes = interface.load_train()"),
    "forecast": Way("inputs, targets = interface.load_train()"),
}
"""How each kind of task is answered, by its name; the first whose sign is found in an instruction counts."""
_SYMBOLS = re.compile(r"^\| symbols \| (.+) \|$", re.MULTILINE)

SUBMIT = "print(interface.submit(answer))\n"
SAVE = 'np.save("predictions.npy", answer)\nprint("saved", answer.shape)\n'
PRACTISE = """
walk = interface.iter_test(practice=True)
for window in walk:
    window.predict(model(window))
print(walk.feedback)
"""
WALK = """
for window in interface.iter_test():
    window.predict(model(window))
print("every window answered")
"""
LOOK = """import interface

print(interface.KIND, interface.contract["submission_shape"], interface.contract["unit"])
for name in interface.contract["arrays"]:
    array = interface.load(name)
    print(name, array.dtype, array.shape)
print(interface.budget())
"""


@dataclass(frozen=True)
class InstructionFacts:
    """What a model must know of a task to answer it."""

    kind: str
    symbols: tuple[str, ...] = ()
    """Symbols of a task with bars; none for any other."""
    walks: bool = False
    """Whether hidden windows are shown in the order of time; its program has a function ``model(window)`` then."""

    @classmethod
    def read(cls, text: str) -> InstructionFacts | None:
        """Find a task's instruction in what a model was told; None where there is none."""
        kind = next((kind for kind, way in WAYS.items() if way.sign in text), None)
        if kind is None:
            return None
        symbols = _SYMBOLS.search(text)
        named = tuple(symbols.group(1).split(", ")) if symbols else ()
        return cls(kind, named, "in interface.iter_test():" in text)

    @property
    def way(self) -> Way:
        """How the task is answered."""
        return WAYS[self.kind]

    @property
    def sequential(self) -> bool:
        """Whether the task is stepped through."""
        return self.way.action is not None

    def program(self, end: str | None = None) -> str:
        """A program that answers the task.

        Args:
            end: lines that do something with the array ``answer`` of a task that is answered in one array, or with the
                function ``model`` of one whose windows are walked through; by default, all that is needed for a score.
        """
        body = (resources.files("openfingym") / "models" / "testing" / "programs" / f"{self.kind}.py").read_text(
            encoding="utf-8"
        )
        if self.sequential:
            return body
        # Practice shows that the program runs, before the walk that is made once.
        return body + (end or (PRACTISE + WALK if self.walks else SUBMIT))

    def action(self) -> dict[str, list[float]]:
        """A first action in a sequential task: equal parts of what may be bought, or the drift that stocks have had."""
        assert self.way.action is not None, "only asked of tasks that are stepped through"
        return self.way.action(max(1, len(self.symbols)))
