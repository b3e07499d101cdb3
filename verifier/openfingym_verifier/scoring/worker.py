"""The program of a worker process, which checks and scores heavy submissions.

stdin holds the pickled jobs (:mod:`openfingym_verifier.scoring.jobs`) of the verifier that started it, one after the
other; stdout gets one line of JSON for each. The labels come through stdin, once a task and tape; those of the last
few tapes stay in memory. The process ends when stdin does and, on Linux, the moment its verifier is gone.

Nothing of an agent's reaches it but the float64 values that the verifier has parsed and checked.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import pickle
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym_verifier.scoring.jobs import PreparationJob, ScoringJob

if TYPE_CHECKING:
    from openfingym.metrics import Score
    from openfingym_verifier.scoring.truth import Action, Grader

NICENESS = 10
"""Added to the priority value of a worker, so that the event loop and light submissions go first."""
OUT_OF_MEMORY_FIRST = 800
"""The kernel's ``oom_score_adj`` of a worker, so that a worker ends before the verifier when memory runs out."""
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4

logger = logging.getLogger(__name__)


def main() -> None:
    """Answer jobs until there are no more."""
    # Whatever a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    confine()
    graders: dict[str, Grader] = {}
    with contextlib.suppress(EOFError):
        while True:
            # Pickles come from the verifier, whose child this is.
            job: ScoringJob | PreparationJob = pickle.load(sys.stdin.buffer)  # noqa: S301
            if isinstance(job, PreparationJob):
                answer = _prepare(job)
            else:
                for identity in job.forget:
                    graders.pop(identity, None)
                if job.grader is not None:
                    graders[job.task] = job.grader
                answer = _answer(graders[job.task], job)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def confine() -> None:
    """Make this process unreadable to others of the same user, end with the parent, and yield the processor to it."""
    import resource

    # Ctrl-C at a terminal reaches all of its processes; the verifier decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A core dump would hold the labels.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICENESS)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_FIRST), encoding="ascii")
        libc = ctypes.CDLL(None, use_errno=True)
        # Stated as longs: ctypes would pass an integer as 32 bits, and prctl reads 64.
        for option, value in ((PR_SET_PDEATHSIG, int(signal.SIGKILL)), (PR_SET_DUMPABLE, 0)):
            if libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), *(ctypes.c_ulong(0),) * 3) != 0:
                raise OSError(ctypes.get_errno(), f"prctl {option} failed")


def _prepare(job: PreparationJob) -> dict[str, object]:
    """Prepare metrics; one that cannot be prepared says why when it is wanted for a score."""
    from openfingym.metrics import find_metric

    for name in job.metrics:
        try:
            metric = find_metric(name)
            if metric.prepare is not None:
                metric.prepare()
        except Exception:
            logger.debug("%s: not prepared", name, exc_info=True)
    return {}


def _answer(grader: Grader, job: ScoringJob) -> dict[str, object]:
    """The answer to a job as JSON values: a score or a part of one, a refusal, or the class of a failure."""
    from openfingym.errors import SubmissionError
    from openfingym_verifier.scoring.kept_scores import score_document
    from openfingym_verifier.scoring.parts import compute_part

    try:
        if job.part is not None:
            values = grader.baseline if job.action == "baseline" else job.values
            return compute_part(grader, job.action, job.part, values)
        return score_document(score(grader, job.action, job.values))
    except SubmissionError as error:
        return {"problem": error.problem, "refused": str(error)}
    except Exception as error:
        logger.exception("%s: %s score failed", job.task, job.action)
        # The class alone: the message of a foreign error may hold values of labels.
        return {"failed": type(error).__name__}


def score(grader: Grader, action: Action, values: Any) -> Score:
    """Carry out a job on the values.

    Args:
        grader: the grader of the task on its tape.
        action: what to do; see :class:`ScoringJob`.
        values: float64 of the task's submission shape; None for the baseline.

    Raises:
        SubmissionError: the values are refused, or cannot be scored.
    """
    if action == "baseline":
        return grader.baseline_score()
    grader.check_fold(values, action)
    return grader.public_score(values) if action == "public" else grader.private_score(values)


if __name__ == "__main__":
    main()
