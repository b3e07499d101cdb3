"""Running a plan: from its file to the results of all of its rollouts."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from openfingym import store
from openfingym.errors import UsageError
from openfingym.kinds import is_heavy
from openfingym.machine import cores
from openfingym.models.prices import PriceTable
from openfingym.results import RolloutResult
from openfingym.results.result import RolloutResults
from openfingym.rollouts.backend import BackendChoice, choose, known_backend, lacking
from openfingym.rollouts.budget import RunBudget
from openfingym.rollouts.engine import RolloutEngine, RunWatcher
from openfingym.rollouts.folders import RunFolder
from openfingym.rollouts.local import LocalRollouts, LocalRunner, Runner
from openfingym.rollouts.loggers import LoggerMaker, load_loggers
from openfingym.rollouts.loggers.telling import logged
from openfingym.rollouts.plan import Plan
from openfingym.rollouts.preparation import Work, is_resumable, prepare
from openfingym.rollouts.selection import Selection, select
from openfingym.rollouts.settings import ModelAccess, RolloutSettings
from openfingym.rollouts.spec import player_digest
from openfingym.verifiers import VerifierAddress, find_verifiers
from openfingym.verifiers.finding import require_served

T = TypeVar("T")
logger = logging.getLogger(__name__)


def run(
    plan: Plan | str | Path,
    out: str | Path,
    *,
    program: Path | None = None,
    part: str | None = None,
    again: bool = False,
    retry_errors: bool = False,
    verifier: str | VerifierAddress | None = None,
    ray: bool = False,
    jobs: int = 1,
    watch: RunWatcher | None = None,
    log: Sequence[str | LoggerMaker] = (),
) -> RolloutResults:
    """Run every rollout of a plan that has no result in the run's folder yet.

    May be called again with the same plan and folder, after an interruption or on another machine: finished rollouts
    are read, not run. On the main thread, Ctrl-C ends what runs and leaves nothing of it; so does every other signal
    whose handler is :func:`signal.default_int_handler`.

    Args:
        plan: the plan, or the path of its TOML file.
        out: folder of the run; made if missing.
        program: file of the program that agent ``script`` runs; None where no such agent is planned.
        part: ``"k/n"`` for every n-th rollout only, from the k-th on; None for all.
        again: whether to run everything once more, as further attempts.
        retry_errors: whether to run again what failed for a reason of ours, where the agent was told nothing of hidden
            data.
        verifier: URL or unix socket of a running verifier, a registry file of several, or an address; None for what
            ``$OPENFINGYM_VERIFIER`` names, or a verifier that is started for this run.
        ray: whether to run on the nodes of a running Ray cluster instead of on this machine.
        jobs: number of processes that build tasks at once; a script that gives more than one needs ``if __name__ ==
            "__main__":``.
        watch: watcher that is told how the run goes; None for none.
        log: loggers that are told of every result of this call: names, such as ``tensorboard``, or functions that make
            a logger from the run's folder. A logger that fails later is told nothing more, and the run goes on.

    Returns:
        A list with a result for each rollout of the plan, in its order; ``state`` is ``error`` where our machinery
        failed. Rollouts that did not begin, because the plan's budget was reached, have no result.

    Raises:
        UsageError: the plan cannot be run as it stands, a logger is unknown or cannot begin, or this thread runs an
            event loop, as notebooks do.
        TaskError: a task cannot be built as it is written.
        DataError: a dataset is missing or damaged.
        StoreError: packages or results cannot be read or written.
        VerifierError: a verifier cannot be reached, or is for other tasks.
        BackendUnavailableError: nothing here can isolate a program, or not in the way with which the run began.
        RuntimeFailureError: rollouts fail one after another for a reason of ours; what is finished is kept.
        KeyboardInterrupt: the run was interrupted; what is finished is kept.
    """
    # Whatever is wrong with the order itself is reported before tasks are built, which may take minutes.
    _require_no_loop()
    watch = watch or RunWatcher()
    makers = load_loggers(log)
    plan = plan if isinstance(plan, Plan) else Plan.read(Path(plan))
    selection = select(plan, program=program)
    if not ray:  # the nodes of a cluster have keys of their own
        for spec in plan.model_specs:
            spec.require_access()
    verifiers = find_verifiers(verifier, selection.tasks)
    if plan.clock is not None and ray and verifiers is None:
        raise UsageError("with Ray every node would have a ledger of its own; with a clock, say --verifier LOCATION")
    # From here on nobody else writes into the folder, so that what is missing stays missing until it is run.
    with RunFolder.open(Path(out)) as folder:
        work = prepare(
            plan,
            selection,
            folder,
            part=part,
            again=again,
            retry_errors=retry_errors,
            jobs=jobs,
            show=watch.preparing,
        )
        if verifiers is not None and not ray:  # a cluster's nodes may reach what this machine does not
            watch.preparing("asking the verifiers")
            require_served(work.needed, verifiers)
        watch.prepared(selection, work)
        results = dict(work.done)
        if work.missing:
            settings = _settings(plan, work, folder, verifiers, ray=ray)
            if not ray:  # a cluster's nodes are asked once they are there
                settings = _on_one_backend(settings, folder, choose(settings.backend, plan.backend, settings.agents))
            with logged(makers, folder.root, watch) as watcher:
                results |= _interruptible(
                    _run_missing(plan, selection, work, folder, settings, watcher, ray=ray), watcher
                )
            # The ledger of the run's own verifier is of no use once there is nothing left to go on with.
            if settings.notes is not None and verifiers is None and not folder.has_open:
                shutil.rmtree(store.run_ledger_folder(folder.root), ignore_errors=True)
    return RolloutResults(results[spec.identity] for spec in work.specs if spec.identity in results)


def _settings(
    plan: Plan, work: Work, folder: RunFolder, verifiers: Mapping[str, VerifierAddress] | None, *, ray: bool
) -> RolloutSettings:
    """How the rollouts that have no result yet are run."""
    resumes = not ray and any(is_resumable(spec, work.packages[spec.task]) for spec in work.missing)
    if plan.clock is not None:
        # Questions on a clock are resolved by later commands, in the ledger of this machine.
        state: Path | None = store.ledger_folder()
    elif resumes and verifiers is None:
        # A rollout that is interrupted goes on from the answers in its verifier's ledger, which has to outlive it.
        state = store.run_ledger_folder(folder.root)
    else:
        state = None
    digests = {player_digest(spec.agent, spec.model) for spec in work.missing}
    known = known_backend(folder.backend, work.done.values()) if plan.backend == "auto" else None
    return RolloutSettings(
        backend=known or plan.backend,
        verifiers=verifiers,
        state=state,
        notes=folder.notes if resumes else None,
        models=ModelAccess({spec.name: spec for spec in plan.model_specs}, PriceTable.load(plan.prices)),
        upcoming=tuple(work.missing),
        filed=tuple(sorted(digest for digest in digests if digest is not None)),
        places=plan.concurrency or cores(),
        patience_s=plan.patience_s,
    )


def _on_one_backend(settings: RolloutSettings, folder: RunFolder, choice: BackendChoice | None) -> RolloutSettings:
    """Settings with the backend that was chosen, which is recorded as the run's; None where no program is run."""
    if choice is None:
        return settings
    folder.begin_with(choice.name)
    if (missed := lacking(choice.libraries, settings.agents)) is not None:
        logger.warning(missed)
    return replace(settings, backend=choice.name)


async def _run_missing(
    plan: Plan,
    selection: Selection,
    work: Work,
    folder: RunFolder,
    settings: RolloutSettings,
    watch: RunWatcher,
    *,
    ray: bool,
) -> dict[str, RolloutResult]:
    """Run the rollouts that have no result yet.

    Returns:
        Results by identity; rollouts that the plan's budget kept from beginning have none.
    """
    runner: Runner
    if ray:
        from openfingym.rollouts.ray import RayRunner

        names = {package.manifest.name for package in work.needed}
        runner = await RayRunner.open(
            [task for task in selection.tasks if task.name in names], settings, asked=plan.backend
        )
        _on_one_backend(settings, folder, runner.choice)
    else:
        runner = LocalRunner(LocalRollouts(work.needed, settings), settings.places)
    heavy = {package.manifest.name for package in work.needed if is_heavy(package.task.spec)}
    budget = RunBudget(plan.budget.cost_usd, plan.budget.tokens, work.done.values())
    async with RolloutEngine(
        runner, folder, heavy=heavy, scoring=plan.scoring or cores(), watch=watch, budget=budget
    ) as engine:
        results = await engine.run(work.missing)
        left = {spec.identity for spec in engine.left}
        begun = [spec.identity for spec in work.missing if spec.identity not in left]
        return dict(zip(begun, results, strict=True))


def _require_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "rollouts.run waits for its rollouts, which would keep this thread's event loop from running; in a notebook or "
        "a coroutine: await asyncio.to_thread(rollouts.run, plan, out)"
    )


def _interruptible(work: Coroutine[object, object, T], watch: RunWatcher) -> T:
    """Run to the end, or until a signal interrupts the work, which then cleans up.

    Args:
        work: the work, which is cancelled by the first signal.
        watch: told of every signal.

    Raises:
        KeyboardInterrupt: the work was interrupted, and has ended.
    """
    signals = _interrupts()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)

        def stop() -> None:
            # A second signal must not interrupt the cleaning up, which takes no longer than stopping the programs.
            if not task.cancelling():
                task.cancel()
            watch.stopping()

        for sign in signals:
            loop.add_signal_handler(sign, stop)
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            for sign in signals:
                loop.remove_signal_handler(sign)
                # For all but SIGINT the loop leaves SIG_DFL behind, with which the next signal would end the process.
                signal.signal(sign, signal.default_int_handler)


def _interrupts() -> list[signal.Signals]:
    """The signals that raise KeyboardInterrupt in this thread."""
    # Python allows handlers of signals on the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        return []
    # Only those: a handler that the caller has installed for another purpose stays.
    candidates = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [sign for sign in candidates if signal.getsignal(sign) is signal.default_int_handler]
