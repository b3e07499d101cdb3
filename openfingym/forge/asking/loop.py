"""The bounded loop of a generator and a reviewer, which every stage that has code written uses.

The reviewer writes tests before it sees the code. The code and the tests run in the sandbox. The reviewer judges with
the outcome before it. What either says of success counts for nothing: code is accepted if at least one test ran, every
test passed, and the reviewer accepts.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from openfingym.forge.asking.journal import PaperJournal
from openfingym.forge.asking.replies import code_in
from openfingym.forge.asking.sandboxed import CodeLimits, CodeOutcome, run_in_sandbox
from openfingym.forge.prompts import TRIES, AnswerError, ask_for, of_json
from openfingym.forge.stage import CandidateTask

SHOWN = 4000
"""Characters of what code printed that a prompt shows."""
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
    failed: Mapping[str, str]
    """Name of a test to what was wrong."""
    outcome: CodeOutcome

    __test__ = False

    @property
    def good(self) -> bool:
        """Whether there were tests, and all passed."""
        return bool(self.passed) and not self.failed

    def describe(self) -> str:
        """In words, for a model to read."""
        if self.failed:
            return "\n".join(f"- {name}: {why}" for name, why in self.failed.items())
        return f"{len(self.passed)} tests passed" if self.passed else "no test was run"


@dataclass(frozen=True)
class Produced:
    """What the loop ended in."""

    accepted: bool
    code: str
    """The last code; empty where there was none."""
    tests: str
    why: str
    """Why it was not accepted; what the reviewer said where it was."""
    malformed: bool = False
    """Whether a model gave no usable answer within its tries."""
    attempts: int = 0
    verdicts: tuple[Mapping[str, object], ...] = field(default=())


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
        candidate: whose models are asked, and in whose journal everything is kept.
        purpose: what is made, for the journal.
        write: gives the generator's prompt from what was wrong with the last code; empty the first time.
        tests: the reviewer's prompt for tests: functions ``test_...`` without arguments, which find the code's names
            in their scope.
        judge: gives the reviewer's prompt from code, tests and outcome; its answer is JSON with ``verdict``, ``accept``
            or ``reject``, and ``why``.
        screen: what speaks against a piece of code before it is run; empty for nothing.
        tries: how often code is written, and how often any answer is asked for that cannot be read.
        limits: limits of code and tests together.
        files: files that both find in ``/task/given/``.

    Raises:
        ModelUnavailableError: a model cannot be reached.
        BudgetSpentError: the budget does not allow another request.
        BackendUnavailableError: nothing on this machine can isolate programs.
    """
    journal, code, wrong = PaperJournal(candidate.folder), "", ""
    verdicts: list[Mapping[str, object]] = []
    asked = ask_for(candidate.asking, "reviewer", f"{purpose}-tests", tests, code_in, tries)
    testing = asked.found
    if testing is None:
        return Produced(False, "", "", f"no tests: {asked.why}", malformed=True)
    journal.add_once("tests", purpose=purpose, tests=testing)
    for attempt in range(1, tries + 1):
        written = ask_for(candidate.asking, "generator", purpose, write(wrong), code_in, tries)
        if written.found is None:
            return Produced(False, code, testing, written.why, malformed=True, attempts=attempt)
        code = written.found
        if refused := screen(code):
            wrong = f"the code was not run: {refused}"
            journal.add_once("screened", purpose=purpose, code=code, why=refused)
            continue
        tested = run_tests(code, testing, limits, files)
        journal.add_once(
            "run", purpose=purpose, code=code, passed=list(tested.passed), failed=dict(tested.failed),
            ended_by=tested.outcome.ended_by,
        )  # fmt: skip
        prompt = judge(code, testing, tested.describe())
        judged = ask_for(candidate.asking, "reviewer", f"{purpose}-verdict", prompt, of_json(_verdict), tries)
        verdict = judged.found
        if verdict is None:
            return Produced(False, code, testing, f"no verdict: {judged.why}", malformed=True, attempts=attempt)
        verdicts.append(verdict)
        journal.add_once("verdict", purpose=purpose, attempt=attempt, tested=tested.good, **verdict)
        why = str(verdict["why"])
        if tested.good and verdict["verdict"] == "accept":
            return Produced(True, code, testing, why, attempts=attempt, verdicts=tuple(verdicts))
        wrong = f"tests: {tested.describe()}\nreviewer: {verdict['verdict']}: {why}"
    return Produced(False, code, testing, wrong, attempts=tries, verdicts=tuple(verdicts))


def run_tests(
    code: str, tests: str, limits: CodeLimits | None = None, files: Mapping[str, bytes] | None = None
) -> TestedCode:
    """Run code with its tests in the sandbox.

    The outcome is read from one line that begins with a number that is drawn anew each time; whatever else is printed
    says nothing.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed.
    """
    nonce = secrets.token_hex(24)
    given = {**(files or {}), "candidate.py": code.encode(), "tests.py": tests.encode(), "nonce.txt": nonce.encode()}
    outcome = run_in_sandbox(HARNESS, given, limits)
    results = after_nonce(outcome, nonce)
    if not isinstance(results, dict) or not outcome.whole:
        how = outcome.ended_by if outcome.ended_by != "exit" else f"exit with status {outcome.exit_code}"
        ended = f"it ended by {how} before its tests were done; it printed: {outcome.output[-SHOWN:]}"
        return TestedCode((), {"the code": ended}, outcome)
    passed = tuple(name for name, why in results.items() if not why)
    failed = {str(name): str(why) for name, why in results.items() if why}
    return TestedCode(passed, failed or ({} if passed else {"the tests": "there is no function test_..."}), outcome)


def after_nonce(outcome: CodeOutcome, nonce: str) -> object:
    """The JSON behind a number in what was printed; None where it is not there once."""
    found = [line for line in outcome.output.splitlines() if nonce in line]
    if len(found) != 1 or not found[0].startswith(nonce):
        return None
    try:
        value: object = json.loads(found[0].removeprefix(nonce))
    except (ValueError, RecursionError):
        return None
    return value


def _verdict(found: object) -> dict[str, object]:
    if (
        not isinstance(found, dict)
        or found.get("verdict") not in ("accept", "reject")
        or not isinstance(found.get("why"), str)
    ):
        raise AnswerError('expected {"verdict": "accept" or "reject", "why": "..."}')
    return {"verdict": found["verdict"], "why": found["why"]}
