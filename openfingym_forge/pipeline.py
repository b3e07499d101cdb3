"""From papers to installed tasks: each paper goes through the stages, several at once, on from wherever it stopped.

Every paper is worked on in a process of its own, so that a crash that one paper causes ends the work on that paper
alone. Tasks are installed one after another in order of their papers' keys, so that of two tasks that are the same it
is always the same one that stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from openfingym.digests import sha256_of_json
from openfingym.errors import BudgetSpentError, ModelUnavailableError, OpenFinGymError, StoreError, UsageError
from openfingym_forge.folder import (
    EDITED_FROM,
    ForgeFolder,
    ForgeSettings,
    KeptResult,
    PaperFolder,
    UnreadableRecordError,
)
from openfingym_forge.stage import STAGES, CandidateTask, ForgeAsking, RejectionReason, Stage, StageResult

AT_ONCE = 2
"""Papers that are worked on at the same time, where nothing is said."""
BEFORE_PROOF, PROVE, INSTALL = "assemble", "prove", "install"
_PR_SET_PDEATHSIG = 1
"""Linux: ``prctl`` option that has the kernel send a signal to this process once its parent has ended."""

StagesOf = Callable[[ForgeFolder, PaperFolder], tuple[ForgeAsking, Sequence[Stage]]]
"""Gives the models to ask for a paper, and the paper's stages in order. It must be a function at the top level of a
module, because it is sent by name to the process that works on the paper."""


@dataclass(frozen=True)
class Progress:
    """How far a paper has come."""

    key: str
    """Key of the paper."""
    kept: KeptResult
    """Result of the last stage that was done."""

    @property
    def is_kept(self) -> bool:
        """Whether the result is written down. It is not where a file of the paper cannot be read: the file stays as it
        is.
        """
        return bool(self.kept.digest)


@dataclass(frozen=True)
class BrokenOff:
    """Why work on a paper ended outside of its stages."""

    text: str
    """The reason, for people."""
    unreadable: bool = False
    """Whether a file of the paper cannot be read; otherwise the paper's process died."""


Work = Callable[[Path], BrokenOff | None]
"""Works on the paper of a folder, and gives the reason if it was broken off."""


def forge_papers(
    forge: ForgeFolder,
    papers: Sequence[PaperFolder],
    stages_of: StagesOf,
    install: Callable[[Path, Path], StageResult],
    *,
    jobs: int = AT_ONCE,
    upto: str = INSTALL,
) -> Iterator[Progress]:
    """Put papers through the stages up to ``prove``, and install what is proved; yields the last stage of each paper,
    and once more where its task was installed.

    A paper that is refused, fails, or has a file that cannot be read ends there, and the file stays as it is; the other
    papers go on. What was done before is not done again.

    Args:
        forge: the forge, whose lock the caller holds (:meth:`ForgeFolder.working`).
        papers: the papers to work on.
        stages_of: gives the models and the stages of a paper, as :data:`StagesOf` says.
        install: installs the task of a paper's folder, its first argument, into the forge whose root is the second.
        jobs: number of papers that are worked on at the same time.
        upto: name of the last stage to do.

    Raises:
        StoreError: a result cannot be written, as on a full disk.
    """
    assembled: list[PaperFolder] = []
    ended: set[str] = set()
    proves, last_before = _reaches(upto, PROVE), BEFORE_PROOF if _reaches(upto, BEFORE_PROOF) else upto
    with _idle_processes() as idle:
        for progress in _worked(forge, papers, stages_of, last_before, jobs, idle):
            if progress.kept.result.state != "passed":
                ended.add(progress.key)
            elif proves:
                assembled.append(forge.paper(progress.key))
                continue
            yield progress
        # Proofs last longest, so they start once all are known: the slow ones first, lest one run on alone at the end.
        assembled.sort(key=lambda paper: (not _scores_for_long(paper), paper.key))
        for progress in _worked(forge, assembled, stages_of, PROVE, jobs, idle):
            if progress.kept.result.state != "passed":
                ended.add(progress.key)
            yield progress
    for paper in sorted(papers if _reaches(upto, INSTALL) else (), key=lambda paper: paper.key):
        # A paper may still have the proof of an earlier run: where this run ended before it, it does not hold.
        proved = None if paper.key in ended else paper.result(PROVE)
        if proved is not None and proved.result.state == "passed":
            yield Progress(paper.key, _installed(forge, paper, proved, install))


def _worked(
    forge: ForgeFolder,
    papers: Sequence[PaperFolder],
    stages_of: StagesOf,
    upto: str,
    jobs: int,
    idle: list[ProcessPoolExecutor],
) -> Iterator[Progress]:
    """Put papers through the stages up to ``upto``, each in a process; yields the last result of each."""
    work = partial(_paper_in_process, forge.root, forge.settings, stages_of, upto)
    for key, ended in _each([paper.path for paper in papers], work, jobs, idle):
        paper, broken_off = forge.paper(key), ended
        # The process died without a record: the stage that it was at is what failed.
        if broken_off is not None and not broken_off.unreadable:
            paper.keep_result(_failed(paper, broken_off.text), "", 0.0)
        try:
            last = _last(paper)
        except UnreadableRecordError as error:
            broken_off = broken_off or BrokenOff(str(error), unreadable=True)
        if broken_off is not None and broken_off.unreadable:
            # Reported but not written down: a record would replace the very file that somebody has to look at.
            yield Progress(key, KeptResult(_failed(paper, broken_off.text), "", "", 0.0, ""))
        elif last is not None:
            yield Progress(key, last)


def _failed(paper: PaperFolder, why: str) -> StageResult:
    return StageResult(_next_stage(paper), "failed", (RejectionReason("machinery", why),))


def _scores_for_long(paper: PaperFolder) -> bool:
    """Whether one score of the paper's task takes seconds, as its kind or one of its metrics declares."""
    from openfingym.kinds import KINDS
    from openfingym.metrics.registry import METRICS
    from openfingym_forge.blueprint_file import read_blueprint

    if not paper.blueprint_path.exists():
        return False
    blueprint = read_blueprint(paper.blueprint_path)
    kind = KINDS.get(str(blueprint.value("kind")))
    used = [METRICS[metric.bank] for metric in blueprint.metrics if metric.bank in METRICS]
    return (kind is not None and kind.heavy) or any(metric.heavy for metric in used)


def _reaches(upto: str, stage: str) -> bool:
    """Whether a run whose last stage is ``upto`` does this stage."""
    return STAGES.index(upto) >= STAGES.index(stage)


def work_on(
    paper: PaperFolder, asking: ForgeAsking, stages: Sequence[Stage], models: Sequence[str]
) -> KeptResult | None:
    """Put one paper through stages, in this process.

    Args:
        paper: the folder of a paper that was harvested.
        asking: the models that the stages may ask.
        stages: the stages to do, in order.
        models: names of the models; if they differ from those of earlier results, everything is done again.

    Returns:
        The result of the last stage that was done; None where the paper was never harvested.

    Raises:
        StoreError: something cannot be written, or a record of the paper is damaged.
        UsageError: the blueprint, which a person may have edited, is malformed.
    """
    from openfingym_forge.blueprint_file import read_blueprint

    harvested = paper.result("harvest")
    if harvested is None or harvested.result.state != "passed":
        return harvested
    _heed_edits(paper, stages, harvested, models)
    candidate = CandidateTask(paper.path, paper.paper(), asking)
    before = harvested
    for stage in stages:
        # Results are a chain: each names the digest of the one before, so that a change redoes all that rests on it.
        made_from = _made_from(before, stage, models)
        kept = paper.result(stage.name)
        if kept is None or kept.made_from != made_from or kept.result.state in {"failed", "waiting"}:
            started = time.monotonic()
            result = _tried(stage, candidate)
            kept = paper.keep_result(result, made_from, time.monotonic() - started)
        if kept.result.state != "passed":
            return kept
        # The stage may have written the blueprint, and a person may have edited it since.
        if paper.blueprint_path.exists():
            candidate = replace(candidate, blueprint=read_blueprint(paper.blueprint_path))
        before = kept
    return before


def _tried(stage: Stage, candidate: CandidateTask) -> StageResult:
    """The result of a stage. A failure of a model or a defect of the forge is a result as well; a full disk is not."""
    try:
        return stage.run(candidate)
    except StoreError:
        # It would stop every other paper too, and the result could not be written anyway.
        raise
    except BudgetSpentError as error:
        reason = RejectionReason("budget", str(error))
    except ModelUnavailableError as error:
        reason = RejectionReason("model-unavailable", str(error))
    except OpenFinGymError as error:
        reason = RejectionReason("machinery", str(error))
    except Exception as error:  # a defect of ours ends one paper, and is shown
        reason = RejectionReason("machinery", f"a defect of the forge: {error!r}\n{traceback.format_exc(limit=-6)}")
    return StageResult(stage.name, "failed", (reason,))


def _heed_edits(paper: PaperFolder, stages: Sequence[Stage], harvested: KeptResult, models: Sequence[str]) -> None:
    """Forget the results behind the blueprint, if its file is not as the last stage left it: somebody edited it."""
    last, before = None, harvested
    # The last result that still holds, as far as the chain of digests is whole.
    for stage in stages:
        kept = paper.result(stage.name)
        if kept is None or kept.made_from != _made_from(before, stage, models):
            break
        last = before = kept
    digest = paper.blueprint_digest()
    if last is not None and last.blueprint and digest != last.blueprint:
        # A file that was removed has to be extracted again; one that was edited stays, and triage goes on from it.
        paper.forget_from(EDITED_FROM if digest else "extract")


def _made_from(before: KeptResult, stage: Stage, models: Sequence[str]) -> str:
    """Digest of what the result of a stage follows from."""
    return sha256_of_json([before.digest, stage.name, list(models)])


def _next_stage(paper: PaperFolder) -> str:
    """The first stage that has no result that passed and can be read."""
    for stage in STAGES:
        try:
            kept = paper.result(stage)
        except UnreadableRecordError:
            return stage
        if kept is None or kept.result.state != "passed":
            return stage
    return STAGES[-1]


def _last(paper: PaperFolder) -> KeptResult | None:
    results = paper.results()
    return results[-1] if results else None


def _installed(
    forge: ForgeFolder, paper: PaperFolder, proved: KeptResult, install: Callable[[Path, Path], StageResult]
) -> KeptResult:
    """Install a proved task, unless that was done; gives the result."""
    kept = paper.result(INSTALL)
    made_from = sha256_of_json([proved.digest, INSTALL])
    # Only a failure is tried again.
    if kept is not None and kept.made_from == made_from and kept.result.state in {"passed", "refused"}:
        return kept
    started = time.monotonic()
    try:
        result = install(paper.path, forge.root)
    except StoreError:
        raise
    except OpenFinGymError as error:
        result = StageResult(INSTALL, "failed", (RejectionReason("machinery", str(error)),))
    return paper.keep_result(result, made_from, time.monotonic() - started)


def _paper_in_process(
    root: Path, settings: ForgeSettings, stages_of: StagesOf, upto: str, folder: Path
) -> BrokenOff | None:
    """Work on a paper, in the process made for it; gives the reason if a file of the paper cannot be read."""
    forge, paper = ForgeFolder(root, settings), PaperFolder(folder)
    asking, stages = stages_of(forge, paper)
    wanted = [stage for stage in stages if _reaches(upto, stage.name)]
    try:
        work_on(paper, asking, wanted, (settings.model, settings.reviewer))
    except (UnreadableRecordError, UsageError) as error:  # a damaged record, or a malformed edit of the blueprint
        return BrokenOff(str(error), unreadable=True)
    return None


def _each(
    folders: Sequence[Path], work: Work, jobs: int, idle: list[ProcessPoolExecutor]
) -> Iterator[tuple[str, BrokenOff | None]]:
    """Call ``work`` with each folder, in several processes; yields the folder's name, and why the work was broken off
    if it was.

    Each process has one folder at a time, so that it is known which paper a process died of. That folder is tried once
    more, after all others, because a process may also be killed for the memory that other programs take.

    Processes are taken from ``idle`` and left there: starting one takes longer than the work on many a paper.
    """
    waiting = deque((folder, False) for folder in folders)
    running: dict[Future[BrokenOff | None], tuple[Path, bool, ProcessPoolExecutor]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                folder, is_second_try = waiting.popleft()
                future, process = _begun(work, folder, idle)
                running[future] = folder, is_second_try, process
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                folder, is_second_try, process = running.pop(future)
                try:
                    broken_off = future.result()
                except BrokenProcessPool:
                    process.shutdown()
                    if is_second_try:
                        text = "the process that worked on this paper was killed twice; run it again"
                        yield folder.name, BrokenOff(text)
                    else:
                        waiting.append((folder, True))
                except BaseException:
                    # Neither idle nor running any more, so that the end of this function would miss it.
                    process.shutdown()
                    raise
                else:
                    idle.append(process)
                    yield folder.name, broken_off
    finally:
        for _, _, process in running.values():
            process.shutdown(cancel_futures=True)


def _begun(
    work: Work, folder: Path, idle: list[ProcessPoolExecutor]
) -> tuple[Future[BrokenOff | None], ProcessPoolExecutor]:
    """Have an idle process, or a new one, begin to work on a folder."""
    while idle:
        process = idle.pop()
        try:
            return process.submit(work, folder), process
        except BrokenProcessPool:  # killed while it had nothing to do
            process.shutdown()
    process = _process()
    return process.submit(work, folder), process


@contextlib.contextmanager
def _idle_processes() -> Iterator[list[ProcessPoolExecutor]]:
    """A list of processes that have nothing to do, empty at first; they end with the block."""
    # A pool of one process each: the death of a worker breaks its whole pool, and must not break the others.
    idle: list[ProcessPoolExecutor] = []
    try:
        yield idle
    finally:
        for process in idle:
            process.shutdown(cancel_futures=True)


def _process() -> ProcessPoolExecutor:
    """A pool of one process, which starts with its first task."""
    # Not forked: a fork would inherit the locks of the parent's threads in whatever state they are.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """Have this process end with the one that holds the forge's lock, without which nobody may work in the forge."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # The parent may have ended before the line above, and then no signal comes.
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
