"""The task as a program sees it: arrays to read, and one array to submit for feedback, windows to answer one after the
other, or episodes to step through.
"""

from __future__ import annotations

import io
import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym_agent.answers import checked
from openfingym_agent.environment import Environment, Fold, HttpCalls, LiveCalls, Transport
from openfingym_agent.feedback import Feedback
from openfingym_agent.graph import Graph, read_graph, split_graphs
from openfingym_agent.questions import questions_of
from openfingym_agent.transport import GateClient, LiveGate, SubmissionRefused
from openfingym_agent.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Budget:
    """How many submissions a rollout may make, how many private episodes it may play, or how many walks it may make
    for practice.
    """

    total: int
    """Number over the whole rollout."""
    remaining: int
    """Number that is left."""


_WALK = (
    "hidden windows of this task are shown in the order of time, each after the one before it was answered: write `for "
    "window in interface.iter_test(): window.predict(model(window.inputs))`; iter_test(practice=True) practises"
)


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
        return not self.contract["load_test_inputs"] and not self.walks

    @property
    def walks(self) -> bool:
        """Whether hidden windows are shown in the order of time, each after the one before it was answered."""
        return "window" in self.contract

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

    def questions(self) -> list[dict[str, Any]]:
        """The training questions in words, with their ``outcome``; those to answer are in ``window.questions``.

        Raises:
            ValueError: the task asks nothing in words.
        """
        names = ("texts", "inputs", "times", "targets") if "moments" in self.contract else ()
        return questions_of(self.contract, {name: self.load(f"train_{name}") for name in names})

    def load_test_inputs(self) -> Any:
        """The inputs for which an answer is wanted, in the order that a submission must have.

        Raises:
            ValueError: hidden inputs of the task are not shown at once; says what to do instead.
        """
        if self.walks:
            raise ValueError(_WALK)
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

        if self.walks:
            raise SubmissionRefused(_WALK, problem="wrong-interface")
        if self.sequential:
            raise SubmissionRefused("this task is stepped through: use interface.make()", problem="wrong-interface")
        values = checked(predictions, tuple(self.contract["submission_shape"]), self.contract)
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        # One key for all tries of this call, so that a submission whose answer was lost is not counted twice.
        headers = {"Content-Type": "application/x-npy", "Idempotency-Key": uuid.uuid4().hex}
        answer = self._gate.call("POST", "/v1/submissions", headers, buffer.getvalue(), self.deadline)
        return Feedback.of(int(answer["submission"]), answer["feedback"], int(answer["remaining"]))

    def iter_test(self, *, practice: bool = False) -> Walk:
        """The hidden windows in the order of time; the next one is shown when this one is answered.

        A program that is started again goes on at the first window without an answer. ::

            for window in interface.iter_test():
                window.predict(model(window.inputs))

        Args:
            practice: whether to walk through the public fold, as often as the budget allows, with a result at the end
                (:attr:`Walk.feedback`); else through the private fold, once, which is what counts.

        Raises:
            ValueError: the task is not walked through.
        """
        if not self.walks:
            raise ValueError(
                "this task has no windows in the order of time: use "
                + ("interface.make()" if self.sequential else "interface.load_test_inputs() and interface.submit()")
            )
        calls = HttpCalls(GateClient(self._gate_path), lambda: self.deadline)
        return Walk(self.contract, calls, "public" if practice else "private")

    def predict_each(self, model: Callable[[NDArray[Any]], ArrayLike], *, practice: bool = False) -> Feedback | None:
        """Answer every window with what a function makes of its inputs; see :meth:`iter_test`.

        Args:
            model: given the inputs of a window, [items, ...], returns its predictions, [items, ...].
            practice: whether to walk through the public fold.

        Returns:
            The result of a walk for practice; None for the walk that counts.
        """
        walk = self.iter_test(practice=practice)
        for window in walk:
            window.predict(model(window.inputs))
        return walk.feedback

    def make(self, fold: Fold = "private", transport: Transport = "http") -> Environment:
        """The task's episodes, with the methods of a Gymnasium environment.

        Args:
            fold: the episodes that ``reset()`` begins: ``private`` ones are scored and each is played once; ``public``
                ones are for practice.
            transport: ``http`` makes one request for each step; ``websocket`` keeps one connection open.

        Raises:
            ValueError: the task has no episodes, or the transport is neither of the two.
        """
        if self.walks:
            raise ValueError(_WALK)
        if not self.sequential:
            raise ValueError("this task is answered in one array: use interface.submit(predictions)")
        if transport == "http":
            return Environment(self, HttpCalls(GateClient(self._gate_path), lambda: self.deadline), fold)
        if transport == "websocket":
            return Environment(self, LiveCalls(LiveGate(self._gate_path), lambda: self.deadline), fold)
        raise ValueError(f"transport must be 'http' or 'websocket', not {transport!r}")

    def budget(self) -> Budget:
        """The numbers of submissions, or of walks for practice, that are allowed and left, as the verifier counts them.

        Raises:
            VerifierUnavailable: the verifier does not answer.
        """
        answer = self._gate.call("GET", "/v1/rollout", {}, None, self.deadline)
        if self.walks:
            return Budget(total=int(self.contract["budget"]), remaining=int(answer["practice_left"]))
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
