"""One rollout with a launcher of its own: :func:`openfingym.run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import catalog, store
from openfingym.agents import Agent, resolve, suited
from openfingym.packages.tapes import require_renewal
from openfingym.results import RolloutResult, SplitName
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder, default_session
from openfingym.task import Task
from openfingym.verifiers import VerifierAddress

if TYPE_CHECKING:
    from openfingym.kinds.asking import QuestionsOrder
    from openfingym.market.session.terms import SessionOrder
    from openfingym.models.meter import Allowance
    from openfingym.models.model import LanguageModel
    from openfingym.models.spec import ModelSpec


def run(
    task: str | Path | Task,
    agent: str | Agent = "naive",
    *,
    program: str | Path | None = None,
    command: Sequence[str] | None = None,
    mount: str | Path | None = None,
    model: str | ModelSpec | LanguageModel | None = None,
    allowance: Allowance | None = None,
    backend: str = "auto",
    seed: int = 0,
    out: str | Path | None = "runs",
    verifier: str | VerifierAddress | None = None,
    fresh: bool = False,
    session: SessionOrder | None = None,
    questions: QuestionsOrder | str | None = None,
    split: SplitName = "test",
    instance: int | None = None,
) -> RolloutResult:
    """Run one agent on one task and return its verified result.

    Args:
        task: a task's name, its folder, or a task.
        agent: a built-in agent's name, as in :data:`openfingym.agents.BUILTIN`, or an agent.
        program: path of your program, with ``agent="script"``.
        command: program and arguments of your own agent, with ``agent="command"`` or ``agent="cli"``.
        mount: folder of a coding command line, with ``agent="cli"``.
        model: the language model of an agent that asks one: its name, such as ``stand-in/competent``, its name with an
            endpoint, or an object that answers (:meth:`Launcher.run` says in which thread); None for other agents.
        allowance: what an agent with a model may spend; None for the defaults of the task.
        backend: how the program is isolated: ``docker``, ``sandbox`` or ``inline``; ``auto`` for the strongest that
            works here.
        seed: seed that the program finds in ``OPENFINGYM_SEED``.
        out: folder below which the run is kept; None keeps nothing on disk.
        verifier: location of a running verifier, or a registry file of several; None for what ``$OPENFINGYM_VERIFIER``
            names, or a verifier that is started for this call.
        fresh: whether hidden data is drawn for this rollout instead of the package's own; the result's ``tape`` says
            which it had.
        session: where the session of a live task is, and how long it lasts; None for the task's own duration on a
            simulated venue.
        questions: the questions to ask, of a task about what has not happened yet; or which of its own a task that asks
            questions one by one is to ask, such as ``1-10``, counted from 1 with both ends; None for all of its own.
        split: ``test`` for the task as it is; ``train`` or ``validation`` for one of its instances.
        instance: which instance of the split, from 0; None on the test split.

    Returns:
        The verified result, with the path of its folder unless ``out`` is None.

    Raises:
        OpenFinGymError: see :mod:`openfingym.errors`. A failure of the machinery during the rollout is
            returned as a result in state ``error``.
    """
    resolved = resolve(agent, program, command=command, mount=mount)
    if isinstance(model, str):
        from openfingym.models.spec import ModelSpec

        model = ModelSpec.parse(model)
    loaded = task if isinstance(task, Task) else catalog.load_task(task)
    suited(resolved, loaded)  # before anything is built
    # Questions that are open when this returns are resolved by later commands, in the ledger of this machine.
    state = None if questions is None or isinstance(questions, str) else store.ledger_folder()
    with Launcher.for_tasks([loaded], backend=backend, verifier=verifier, state=state) as launcher:
        package, folder = launcher.packages[0], Path(out) if out is not None else None
        if fresh:
            require_renewal(package)
        return launcher.run(
            package,
            resolved,
            RolloutOrder(
                seed=seed,
                fresh=fresh,
                session=session or (default_session(package) if split == "test" else None),
                questions=questions,
                split=split,
                instance=instance,
            ),
            model=model,
            allowance=allowance,
            out=folder,
        )
