"""From papers to installed tasks: each paper through the stages, several at once, and on from wherever it stopped.

Every paper is worked on in a process of its own, so that whatever a paper brings about ends that paper alone. Tasks are
installed one after another in order of their papers' keys, so that of two tasks that are the same it is always the same
one that stays.
"""

from __future__ import annotations

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
from openfingym.forge.folder import (
    EDITED_FROM,
    ForgeFolder,
    ForgeSettings,
    KeptResult,
    PaperFolder,
    UnreadableRecordError,
)
from openfingym.forge.stage import STAGES, CandidateTask, ForgeAsking, RejectionReason, Stage, StageResult

AT_ONCE = 2
"""Papers that are worked on at once, where nothing is said."""
BEFORE_PROOF, PROVE, INSTALL = "assemble", "prove", "install"
_PR_SET_PDEATHSIG = 1

StagesOf = Callable[[ForgeFolder, PaperFolder], tuple[ForgeAsking, Sequence[Stage]]]
"""Gives what a paper is asked with, and its stages in order; a function at the top of a module, since it is called in
the process of the paper."""


@dataclass(frozen=True)
class Progress:
    """A stage that has just been done."""

    key: str
    kept: KeptResult


@dataclass(frozen=True)
class BrokenOff:
    """Why work on a paper ended outside of its stages."""

    text: str
    unreadable: bool = False
    """Whether a file of the paper cannot be read; else its process died."""


def forge_papers(
    forge: ForgeFolder,
    papers: Sequence[PaperFolder],
    stages_of: StagesOf,
    install: Callable[[Path, Path], StageResult],
    *,
    jobs: int = AT_ONCE,
    upto: str = INSTALL,
) -> Iterator[Progress]:
    """Put papers through the stages up to ``prove``, and install what is proved; yields the last stage of each paper.

    A paper that is refused, fails, or has a file that cannot be read ends, the file as it is; the rest goes on. What
    was done is not done again. Proofs come when all tasks
    are assembled, those that score for long first, so that none of them is left over for one processor.

    Args:
        forge: the forge, which the caller holds (:meth:`ForgeFolder.working`).
        papers: the papers to work on.
        stages_of: see :data:`StagesOf`.
        install: installs the task of a paper's folder into the forge at a root.
        jobs: papers at once.
        upto: the last stage to do.

    Raises:
        StoreError: what was found cannot be written, as on a full disk.
    """
    assembled: list[PaperFolder] = []
    ended: set[str] = set()
    proves, last_before = _reaches(upto, PROVE), BEFORE_PROOF if _reaches(upto, BEFORE_PROOF) else upto
    for progress in _worked(forge, papers, stages_of, last_before, jobs):
        if progress.kept.result.state != "passed":
            ended.add(progress.key)
        elif proves:
            assembled.append(forge.paper(progress.key))
            continue
        yield progress
    assembled.sort(key=lambda paper: (not _scores_for_long(paper), paper.key))
    for progress in _worked(forge, assembled, stages_of, PROVE, jobs):
        if progress.kept.result.state != "passed":
            ended.add(progress.key)
        yield progress
    for paper in sorted(papers if _reaches(upto, INSTALL) else (), key=lambda one: one.key):
        # Nothing is installed of what an earlier run proved and this one could not follow.
        proved = None if paper.key in ended else paper.result(PROVE)
        if proved is not None and proved.result.state == "passed":
            yield Progress(paper.key, _installed(forge, paper, proved, install))


def _worked(
    forge: ForgeFolder, papers: Sequence[PaperFolder], stages_of: StagesOf, upto: str, jobs: int
) -> Iterator[Progress]:
    """Put papers through the stages up to one, in processes; yields the last result of each."""
    work = partial(_paper_in_process, forge.root, forge.settings, stages_of, upto)
    for key, ended in _each([paper.path for paper in papers], work, jobs):
        paper, broken_off = forge.paper(key), ended
        if broken_off is not None and not broken_off.unreadable:
            paper.keep_result(_failed(paper, broken_off.text), "", 0.0)
        try:
            last = _last(paper)
        except UnreadableRecordError as error:
            broken_off = broken_off or BrokenOff(str(error), unreadable=True)
        if broken_off is not None and broken_off.unreadable:
            # Told and not kept: a record would stand where the file is that somebody has to look at.
            yield Progress(key, KeptResult(_failed(paper, broken_off.text), "", "", 0.0, ""))
        elif last is not None:
            yield Progress(key, last)


def _failed(paper: PaperFolder, why: str) -> StageResult:
    return StageResult(_next_stage(paper), "failed", (RejectionReason("machinery", why),))


def _scores_for_long(paper: PaperFolder) -> bool:
    """Whether a score of its task takes a processor for seconds, as its kind or a metric says."""
    from openfingym.forge.blueprint_file import read_blueprint
    from openfingym.kinds import KINDS
    from openfingym.metrics.registry import METRICS

    if not paper.blueprint_path.exists():
        return False
    blueprint = read_blueprint(paper.blueprint_path)
    kind = KINDS.get(str(blueprint.value("kind")))
    used = [METRICS[metric.bank] for metric in blueprint.metrics if metric.bank in METRICS]
    return (kind is not None and kind.heavy) or any(metric.heavy for metric in used)


def _reaches(upto: str, stage: str) -> bool:
    return STAGES.index(upto) >= STAGES.index(stage)


def work_on(
    paper: PaperFolder, asking: ForgeAsking, stages: Sequence[Stage], models: Sequence[str]
) -> KeptResult | None:
    """Put one paper through stages, in this process; gives the last one that was done.

    Args:
        paper: the folder of a paper that was harvested.
        asking: the models.
        stages: in order.
        models: names of the models; with others, everything is done again.

    Raises:
        StoreError: something cannot be written.
    """
    from openfingym.forge.blueprint_file import read_blueprint

    harvested = paper.result("harvest")
    if harvested is None or harvested.result.state != "passed":
        return harvested
    _heed_edits(paper, stages, harvested, models)
    candidate = CandidateTask(paper.path, paper.paper(), asking)
    before = harvested
    for stage in stages:
        made_from = _made_from(before, stage, models)
        kept = paper.result(stage.name)
        if kept is None or kept.made_from != made_from or kept.result.state in {"failed", "waiting"}:
            started = time.monotonic()
            result = _tried(stage, candidate)
            kept = paper.keep_result(result, made_from, time.monotonic() - started)
        if kept.result.state != "passed":
            return kept
        if paper.blueprint_path.exists():
            candidate = replace(candidate, blueprint=read_blueprint(paper.blueprint_path))
        before = kept
    return before


def _tried(stage: Stage, candidate: CandidateTask) -> StageResult:
    """What a stage found; a failure of a model or of ours is a result as well, and a full disk is not."""
    try:
        return stage.run(candidate)
    except StoreError:
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
    """Have the stages after the blueprint done again, if its file is not what the last stage left."""
    last, before = None, harvested
    for stage in stages:
        kept = paper.result(stage.name)
        if kept is None or kept.made_from != _made_from(before, stage, models):
            break
        last = before = kept
    found = paper.blueprint_digest()
    if last is not None and last.blueprint and found != last.blueprint:
        paper.forget_from(EDITED_FROM if found else "extract")


def _made_from(before: KeptResult, stage: Stage, models: Sequence[str]) -> str:
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
    found = paper.results()
    return found[-1] if found else None


def _installed(
    forge: ForgeFolder, paper: PaperFolder, proved: KeptResult, install: Callable[[Path, Path], StageResult]
) -> KeptResult:
    kept = paper.result(INSTALL)
    made_from = sha256_of_json([proved.digest, INSTALL])
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
    """Work on a paper; gives why that was broken off, if a file of the paper cannot be read."""
    forge, paper = ForgeFolder(root, settings), PaperFolder(folder)
    asking, stages = stages_of(forge, paper)
    wanted = [stage for stage in stages if _reaches(upto, stage.name)]
    try:
        work_on(paper, asking, wanted, (settings.model, settings.reviewer))
    except (UnreadableRecordError, UsageError) as error:  # a damaged record, or a malformed edit of the blueprint
        return BrokenOff(str(error), unreadable=True)
    return None


def _each(
    folders: Sequence[Path], work: Callable[[Path], BrokenOff | None], jobs: int
) -> Iterator[tuple[str, BrokenOff | None]]:
    """Do something with each folder, several at once; yields its name, and why that was broken off if it was.

    Each of the processes has one folder in hand, so that it is known whose work a process died of. That folder is tried
    once more, after the others, since a process may also be killed for what others take of the memory.
    """
    waiting = deque((folder, False) for folder in folders)
    idle: list[ProcessPoolExecutor] = []
    running: dict[Future[BrokenOff | None], tuple[Path, bool, ProcessPoolExecutor]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                folder, is_second_try = waiting.popleft()
                process = idle.pop() if idle else _process()
                running[process.submit(work, folder)] = folder, is_second_try, process
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                folder, is_second_try, process = running.pop(future)
                try:
                    ended = future.result()
                except BrokenProcessPool:
                    process.shutdown()
                    if is_second_try:
                        text = "the process that worked on this paper was killed twice; run it again"
                        yield folder.name, BrokenOff(text)
                    else:
                        waiting.append((folder, True))
                except BaseException:
                    process.shutdown()
                    raise
                else:
                    idle.append(process)
                    yield folder.name, ended
    finally:
        for process in [*idle, *(process for _, _, process in running.values())]:
            process.shutdown(cancel_futures=True)


def _process() -> ProcessPoolExecutor:
    """A process that does one thing at a time."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """Have this process end with the one that holds the forge: no other may work in it after its lock is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
