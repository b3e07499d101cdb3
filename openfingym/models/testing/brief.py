"""Reading a task's brief as a model would: which kind of task it is, and which program answers it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

SIGNS = {
    "trading": 'action = {"weights"',
    "rolling": 'action = {"predictions"',
    "curves": "lower, central, upper",
    "generation": "contexts, windows = interface.load_train()",
    "graphs": "graphs, labels = interface.load_train()",
    "nodes": "nodes, labels = interface.load_train()",
    "rows": "features, returns = interface.load_train()",
    "forecast": "inputs, targets = interface.load_train()",
}
"""Kind of task to what only its brief says; the first that is found counts."""
_SYMBOLS = re.compile(r"^\| symbols \| (.+) \|$", re.MULTILINE)

SUBMIT = "print(interface.submit(answer))\n"
SAVE = 'np.save("predictions.npy", answer)\nprint("saved", answer.shape)\n'
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
    """Of a sequential task."""

    @classmethod
    def read(cls, text: str) -> InstructionFacts | None:
        """Find the brief in what was told; None where there is none."""
        kind = next((kind for kind, sign in SIGNS.items() if sign in text), None)
        if kind is None:
            return None
        symbols = _SYMBOLS.search(text)
        return cls(kind, tuple(symbols.group(1).split(", ")) if symbols else ())

    @property
    def sequential(self) -> bool:
        """Whether the task is stepped through."""
        return self.kind in {"trading", "rolling"}

    def program(self, end: str = SUBMIT) -> str:
        """A program that answers the task.

        Args:
            end: what is done with ``answer`` in a batch task.
        """
        body = (resources.files("openfingym") / "models" / "testing" / "programs" / f"{self.kind}.py").read_text(encoding="utf-8")
        return body if self.sequential else body + end

    def action(self) -> dict[str, list[float]]:
        """A first step in a sequential task: equal parts of what may be bought, or the drift that stocks have had."""
        width = max(1, len(self.symbols))
        return {"weights": [round(1.0 / width - 5e-5, 4)] * width} if self.kind == "trading" else {"predictions": [0.001] * width}
