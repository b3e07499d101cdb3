"""The task as a program sees it: arrays to read, and one array to submit for feedback, or episodes to step through."""

from __future__ import annotations

import io
import json
import math
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym_agent.environment import Environment, Fold, HttpCalls, LiveCalls, Transport
from openfingym_agent.graph import Graph, read_graph, split_graphs
from openfingym_agent.transport import GateClient, LiveGate, SubmissionRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Feedback:
    """The verifier's answer to an accepted submission: its result on the public fold, clipped and rounded."""

    submission: int
    """Number of the submission, from 1."""
    total: float
    """Weighted loss; lower is better. NaN if feedback is withheld, because enough was disclosed about this task."""
    metrics: dict[str, float]
    """Each metric by its name, in its own direction (see ``contract["metrics"]``); empty if feedback is withheld."""
    remaining: int
    """Submissions that are left."""

    def __str__(self) -> str:
        if math.isnan(self.total):
            return f"submission {self.submission}: accepted, feedback withheld; {self.remaining} left"
        shown = ", ".join(f"{name} {value:g}" for name, value in self.metrics.items())
        return f"submission {self.submission}: public loss {self.total:g} ({shown}); {self.remaining} left"


@dataclass(frozen=True)
class Budget:
    """How many submissions a rollout may make, or how many private episodes it may play."""

    total: int
    """Number over the whole rollout."""
    remaining: int
    """Number that is left."""


class Interface:
    """One task: its data, its contract, and the way to submit."""

    def __init__(self, task_dir: str | Path, *, gate: str | None = None) -> None:
        """Read the contract in ``task_dir``; the gate is contacted by the first call that needs it.

        Args:
            task_dir: folder of the task, which contains ``data/``.
            gate: path of the gate's socket; by default $OPENFINGYM_GATE, or else ``/run/openfingym/gate.sock``.
        """
        self._data = Path(task_dir) / "data"
        self.contract: dict[str, Any] = json.loads((self._data / "contract.json").read_text(encoding="utf-8"))
        """Shapes, units, channel names, limits and scoring of the task."""
        self._gate_path = gate
        self._gate = GateClient(gate)

    @property
    def sequential(self) -> bool:
        """Whether the task is stepped through, episode by episode."""
        return not self.contract["load_test_inputs"]

    @property
    def deadline(self) -> float | None:
        """Unix time at which the program will be stopped, or None if that is not known."""
        stated = os.environ.get("OPENFINGYM_DEADLINE")
        return float(stated) if stated else None

    def load_train(self) -> tuple[Any, NDArray[Any]]:
        """The training data: what is known, and the answers to it.

        A forecast has inputs float64[n, lookback, channels] and targets float64[n, steps, channels]; generation has
        contexts (with no rows if none are given) and windows; fraud has numbers of nodes, or graphs, and their labels.
        """
        known, answers = (self.load(name) for name in self.contract["load_train"])
        return self._items(known), answers

    def load_test_inputs(self) -> Any:
        """The inputs for which an answer is wanted, in the order that a submission must have.

        Raises:
            ValueError: the task is stepped through, so its inputs are not shown at once.
        """
        if self.sequential:
            raise ValueError(
                "this task is stepped through: use env = interface.make(), env.reset() and env.step(action)"
            )
        (name,) = self.contract["load_test_inputs"]
        return self._items(self.load(name))

    def load_graph(self) -> Graph:
        """The whole graph of a fraud task; if the task is about many graphs, all of them as one.

        Raises:
            ValueError: the task has no graph.
        """
        if "graph_edges" not in self.contract["arrays"]:
            raise ValueError(f"this is a {self.contract['kind']} task, which has no graph")
        return read_graph(self.load, self.contract["arrays"])

    def load_times(self) -> tuple[NDArray[np.datetime64], NDArray[np.datetime64]]:
        """UTC times of the rows of every window, inputs then targets: datetime64[ns][n, lookback + horizon] for the
        training windows, and another array for the test windows.
        """
        return self.load("train_times"), self.load("test_times")

    def load(self, name: str) -> NDArray[Any]:
        """One of the task's arrays, by its name in ``contract["arrays"]``.

        Raises:
            ValueError: the task has no such array.
        """
        import numpy as np

        if name not in self.contract["arrays"]:
            raise ValueError(f"this task has no array {name!r}; it has {', '.join(self.contract['arrays'])}")
        array: NDArray[Any] = np.load(self._data / f"{name}.npy", allow_pickle=False)
        return array

    def submit(self, predictions: ArrayLike) -> Feedback:
        """Submit an answer; the last accepted submission counts.

        Args:
            predictions: real numbers of shape ``contract["submission_shape"]``, in the unit of ``contract["unit"]``.

        Returns:
            The result on the public fold.

        Raises:
            SubmissionRefused: the values do not fit the contract, which costs nothing; or the budget is spent.
            VerifierUnavailable: the verifier does not answer.
        """
        import numpy as np

        if self.sequential:
            raise SubmissionRefused("this task is stepped through: use interface.make()", problem="wrong-interface")
        values = self._checked(predictions)
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        # One key for all tries of this call, so that a submission whose answer was lost is not counted twice.
        headers = {"Content-Type": "application/x-npy", "Idempotency-Key": uuid.uuid4().hex}
        answer = self._gate.call("POST", "/v1/submissions", headers, buffer.getvalue(), self.deadline)
        feedback = answer["feedback"]
        return Feedback(
            submission=int(answer["submission"]),
            total=math.nan if feedback["total"] is None else float(feedback["total"]),
            metrics={name: float(value) for name, value in feedback["metrics"].items()},
            remaining=int(answer["remaining"]),
        )

    def make(self, fold: Fold = "private", transport: Transport = "http") -> Environment:
        """The task's episodes, with the methods of a Gymnasium environment.

        Args:
            fold: the episodes that ``reset()`` begins: ``private`` ones are scored and each is played once; ``public``
                ones are for practice.
            transport: ``http`` makes one request for each step; ``websocket`` keeps one connection open.

        Raises:
            ValueError: the task is answered in one array, or the transport is neither of the two.
        """
        if not self.sequential:
            raise ValueError("this task is answered in one array: use interface.submit(predictions)")
        if transport == "http":
            return Environment(self, HttpCalls(GateClient(self._gate_path), lambda: self.deadline), fold)
        if transport == "websocket":
            return Environment(self, LiveCalls(LiveGate(self._gate_path), lambda: self.deadline), fold)
        raise ValueError(f"transport must be 'http' or 'websocket', not {transport!r}")

    def budget(self) -> Budget:
        """The numbers of submissions that are allowed and left, as the verifier counts them.

        Raises:
            VerifierUnavailable: the verifier does not answer.
        """
        answer = self._gate.call("GET", "/v1/rollout", {}, None, self.deadline)
        return Budget(total=int(answer["budget"]), remaining=int(answer["remaining"]))

    def place(self) -> tuple[int, int] | None:
        """The episode that was begun last, and the number of actions taken in it, as the verifier counts them; None
        before the first.

        Raises:
            VerifierUnavailable: the verifier does not answer.
        """
        answer = self._gate.call("GET", "/v1/rollout", {}, None, self.deadline)
        return None if answer.get("episode") is None else (int(answer["episode"]), int(answer["step"] or 0))

    def close(self) -> None:
        """Close the connection to the gate, if one is open."""
        self._gate.close()

    def _items(self, found: NDArray[Any]) -> Any:
        """The items that an array stands for: its rows, or in a task about many graphs, the graphs of these numbers."""
        if "graph_offsets" not in self.contract["arrays"]:
            return found
        return split_graphs(self.load_graph(), self.load("graph_offsets"), found)

    def _checked(self, predictions: ArrayLike) -> NDArray[np.float64]:
        """The values as the verifier wants them; checked here first, where a refusal is quicker and clearer.

        Raises:
            SubmissionRefused: the values do not fit the contract.
        """
        import numpy as np

        try:
            given = np.asarray(predictions)
        except ValueError as error:
            raise SubmissionRefused(
                f"predictions are not one regular array ({error})", problem="wrong-shape"
            ) from error
        if given.dtype.kind not in "fiu":
            raise SubmissionRefused(
                f"expected real numbers (float64), found dtype {given.dtype}", problem="wrong-dtype"
            )
        expected = tuple(self.contract["submission_shape"])
        if given.shape != expected:
            axes = ", ".join(self.contract["submission_axes"])
            raise SubmissionRefused(f"expected shape {expected} ({axes}), found {given.shape}", problem="wrong-shape")
        values = np.ascontiguousarray(given, dtype=np.float64)
        finite = np.isfinite(values)
        if not finite.all():
            where = tuple(int(i) for i in np.argwhere(~finite)[0])
            raise SubmissionRefused(
                f"expected finite numbers, found {values[where]} at index {where}", problem="not-finite"
            )
        low, high = float(self.contract["low"]), float(self.contract["high"])
        outside = (values < low) | (values > high)
        if outside.any():
            where = tuple(int(i) for i in np.argwhere(outside)[0])
            found = f"found {values[where]:g} at index {where}"
            raise SubmissionRefused(
                f"expected values in [{low:g}, {high:g}] {self.contract['unit']}, {found}", problem="out-of-range"
            )
        return values
