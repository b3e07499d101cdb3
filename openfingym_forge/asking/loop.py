"""The bounded loop in which a generator writes code and a reviewer tests and judges it.

The reviewer writes tests before it sees the code. The code and the tests run in the sandbox. The reviewer judges with
the outcome before it. What a model says of success counts for nothing: code is accepted if at least one test ran, every
test passed, and the reviewer accepts.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from openfingym_forge.asking.journal import PaperJournal
from openfingym_forge.asking.replies import code_in
from openfingym_forge.asking.sandboxed import CodeLimits, CodeOutcome, run_in_sandbox
from openfingym_forge.prompts import TRIES, AnswerError, ask_for, of_json
from openfingym_forge.stage import CandidateTask

SHOWN = 4000
"""Characters of what code printed that a prompt shows."""
# The number and the function that prints are taken hold of before the code runs, which may replace sys.stdout. The
# process ends right behind the report, so that no thread or exit handler of the code prints after it.
HARNESS = """
import json, os, sys, traceback
with open("/task/given/nonce.txt") as stream:
    nonce = stream.read()
print_line = sys.stdout.write
results = {}
try:
    scope = {"__name__": "candidate"}
    with open("/task/given/candidate.py") as stream:
        exec(compile(stream.read(), "candidate.py", "exec"), scope)
    with open("/task/given/tests.py") as stream:
        tests = dict(scope)
        exec(compile(stream.read(), "tests.py", "exec"), tests)
    for name in [name for name in tests if name.startswith("test_") and callable(tests[name])]:
        try:
            tests[name]()
            results[name] = ""
        except BaseException as error:
            results[name] = f"{type(error).__name__}: {error}"[:300]
except BaseException as error:
    results["the code"] = f"{type(error).__name__}: {error}"[:300]
print_line("\\n" + nonce + json.dumps(results) + "\\n")
sys.stdout.flush()
os._exit(0)
"""


@dataclass(frozen=True)
class TestedCode:
    """What came of code and its tests in the sandbox."""

    passed: tuple[str, ...]
    """Names of the tests that passed."""
    failed: Mapping[str, str]
    """What was wrong, by the name of the test."""
    outcome: CodeOutcome
    """How the program that ran them ended."""

    # Its name begins as pytest expects of a class of tests.
    __test__ = False

    @property
    def good(self) -> bool:
        """Whether there were tests, and all passed."""
        return bool(self.passed) and not self.failed

    def describe(self) -> str:
        """The outcome in words, for a model to read."""
        if self.failed:
            return "\n".join(f"- {name}: {why}" for name, why in self.failed.items())
        return f"{len(self.passed)} tests passed" if self.passed else "no test was run"


@dataclass(frozen=True)
class Produced:
    """What the loop ended in."""

    accepted: bool
    code: str
    """The last code that was written; empty where there was none."""
    tests: str
    """Source of the reviewer's tests; empty where there were none."""
    why: str
    """Why the code was not accepted; for code that was, what the reviewer said of it."""
    malformed: bool = False
    """Whether a model gave no usable answer within its tries."""
    attempts: int = 0
    """How often code was written."""
    verdicts: tuple[Mapping[str, object], ...] = field(default=())
    """What the reviewer said of each attempt that was run: ``verdict`` and ``why``."""


def produce(
    candidate: CandidateTask,
    *,
    purpose: str,
    write: Callable[[str], str],
    tests: str,
    judge: Callable[[str, str, str], str],
    screen: Callable[[str], str] = lambda _code: "",
    tries: int = TRIES,
    limits: CodeLimits | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Produced:
    """Have code written, tested and judged, until it is accepted or the tries are used up.

    Args:
        candidate: the paper, whose models are asked and in whose journal everything is recorded.
        purpose: what the code is for, as the journal has it.
        write: gives the generator's prompt from what was wrong with the last code, which is empty the first time.
        tests: the reviewer's prompt for tests: functions ``test_...`` without arguments, which find the code's names
            in their scope.
        judge: gives the reviewer's prompt from code, tests and outcome; the answer to it is JSON with ``verdict``,
            which is ``accept`` or ``reject``, and ``why``.
        screen: says what speaks against a piece of code before it is run; empty for nothing. It must keep code from
            reading files where the outcome matters: the number that marks the report lies in one.
        tries: how often code is written at most, and how often a model is asked again for an answer that cannot be
            read.
        limits: limits of code and tests together; None for those of :class:`CodeLimits`.
        files: files by name, which code and tests find in ``/task/given/``.

    Returns:
        The last code, and whether it was accepted.

    Raises:
        ModelUnavailableError: a model cannot be reached.
        BudgetSpentError: the budget does not allow another request.
        BackendUnavailableError: nothing on this machine can isolate programs.
    """
    journal, code, wrong = PaperJournal(candidate.folder), "", ""
    verdicts: list[Mapping[str, object]] = []
    # Tests first: written after the code, they would follow the code and not what is asked of it.
    tests_answer = ask_for(candidate.asking, "reviewer", f"{purpose}-tests", tests, code_in, tries)
    test_code = tests_answer.value
    if test_code is None:
        return Produced(False, "", "", f"no tests: {tests_answer.why}", malformed=True)
    journal.add_once("tests", purpose=purpose, tests=test_code)
    for attempt in range(1, tries + 1):
        written = ask_for(candidate.asking, "generator", purpose, write(wrong), code_in, tries)
        if written.value is None:
            return Produced(False, code, test_code, written.why, malformed=True, attempts=attempt)
        code = written.value
        if objection := screen(code):
            wrong = f"the code was not run: {objection}"
            journal.add_once("screened", purpose=purpose, code=code, why=objection)
            continue
        tested = run_tests(code, test_code, limits, files)
        journal.add_once(
            "run", purpose=purpose, code=code, passed=list(tested.passed), failed=dict(tested.failed),
            ended_by=tested.outcome.ended_by,
        )  # fmt: skip
        # Code that failed its tests is judged as well: the next attempt is told why.
        prompt = judge(code, test_code, tested.describe())
        judged = ask_for(candidate.asking, "reviewer", f"{purpose}-verdict", prompt, of_json(_verdict), tries)
        verdict = judged.value
        if verdict is None:
            return Produced(False, code, test_code, f"no verdict: {judged.why}", malformed=True, attempts=attempt)
        verdicts.append(verdict)
        journal.add_once("verdict", purpose=purpose, attempt=attempt, tested=tested.good, **verdict)
        why = str(verdict["why"])
        if tested.good and verdict["verdict"] == "accept":
            return Produced(True, code, test_code, why, attempts=attempt, verdicts=tuple(verdicts))
        wrong = f"tests: {tested.describe()}\nreviewer: {verdict['verdict']}: {why}"
    return Produced(False, code, test_code, wrong, attempts=tries, verdicts=tuple(verdicts))


def run_tests(
    code: str, tests: str, limits: CodeLimits | None = None, files: Mapping[str, bytes] | None = None
) -> TestedCode:
    """Run code with its tests in the sandbox.

    The outcome is read from one line that begins with a number that is drawn anew each time; whatever else is printed
    counts for nothing. The number lies in a file beside the code: only code that may not open files cannot know it.

    Args:
        code: source of the code.
        tests: source of the tests.
        limits: limits of code and tests together; None for those of :class:`CodeLimits`.
        files: files by name, which code and tests find in ``/task/given/``.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed.
    """
    nonce = secrets.token_hex(24)
    given = {**(files or {}), "candidate.py": code.encode(), "tests.py": tests.encode(), "nonce.txt": nonce.encode()}
    outcome = run_in_sandbox(HARNESS, given, limits)
    results = after_nonce(outcome, nonce)
    # Also after a report: a program that was ended, or failed behind it, did not run as the harness does.
    if not isinstance(results, dict) or not outcome.whole:
        how = outcome.ended_by if outcome.ended_by != "exit" else f"exit with status {outcome.exit_code}"
        ended = f"it ended by {how} before its tests were done; it printed: {outcome.output[-SHOWN:]}"
        return TestedCode((), {"the code": ended}, outcome)
    passed = tuple(name for name, why in results.items() if not why)
    failed = {str(name): str(why) for name, why in results.items() if why}
    return TestedCode(passed, failed or ({} if passed else {"the tests": "there is no function test_..."}), outcome)


def after_nonce(outcome: CodeOutcome, nonce: str) -> object:
    """The JSON value behind a number in what a program printed; None unless exactly one line has the number.

    Args:
        outcome: how the program ended, and what it printed.
        nonce: the number, which the program was given and nobody else knows.
    """
    lines = [line for line in outcome.output.splitlines() if nonce in line]
    # A second line means that something else than the harness has learned the number.
    if len(lines) != 1 or not lines[0].startswith(nonce):
        return None
    try:
        value: object = json.loads(lines[0].removeprefix(nonce))
    except (ValueError, RecursionError):
        return None
    return value


def _verdict(answer: object) -> dict[str, object]:
    """The verdict in a reviewer's answer, and nothing else of it: the rest would get into the journal."""
    if (
        not isinstance(answer, dict)
        or answer.get("verdict") not in ("accept", "reject")
        or not isinstance(answer.get("why"), str)
    ):
        raise AnswerError('expected {"verdict": "accept" or "reject", "why": "..."}')
    return {"verdict": answer["verdict"], "why": answer["why"]}
