"""Asking models: the journal, the budget, the sandbox and the loop of generator and reviewer."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import get_args

import pytest

from openfingym.errors import (
    BudgetSpentError,
    ModelRefusedError,
    ModelUnavailableError,
    RefusalReason,
    UsageError,
)
from openfingym.models.given import FunctionModel, from_function
from openfingym_forge.asking import (
    CodeLimits,
    PaperJournal,
    Produced,
    RoleModels,
    code_in,
    produce,
    run_in_sandbox,
)
from openfingym_forge.asking.loop import run_tests
from openfingym_forge.paper import Paper
from openfingym_forge.prompts import AnswerError
from openfingym_forge.stage import CandidateTask

PAPER = Paper("a-paper", "A paper", "", "", (), (), "en", "text", "here", "0" * 64, "0" * 64)
GOOD = "```python\ndef double(x):\n    return 2 * x\n```"
TESTS = "```python\ndef test_two():\n    assert double(2) == 4\n```"


class Asked:
    """What a model of the tests answers by the first words of a prompt, and what it was asked."""

    def __init__(self, **answers: str) -> None:
        self.prompts: list[str] = []
        self.answers = answers

    def model(self, name: str = "given") -> FunctionModel:
        return from_function(name, lambda messages, _tools: self(str(messages[-1]["content"])))

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answers.get(prompt.split(maxsplit=1)[0], prompt)


def candidate(folder: Path, asked: Asked, **options: int) -> CandidateTask:
    return CandidateTask(folder, PAPER, RoleModels(folder, asked.model(), **options))


def double(folder: Path, **answers: str) -> tuple[Produced, Asked]:
    asked = Asked(**{"tests": TESTS, "write": GOOD, "judge": '{"verdict": "accept", "why": "it doubles"}', **answers})
    made = produce(
        candidate(folder, asked),
        purpose="double",
        write=lambda wrong: f"write {wrong}",
        tests="tests first",
        judge=lambda code, tests, outcome: f"judge {code} {tests} {outcome}",
        limits=CodeLimits(timeout_s=5),
    )
    return made, asked


def test_an_answer_is_kept_and_never_asked_for_twice(tmp_path: Path) -> None:
    asked = Asked()
    first = RoleModels(tmp_path / "p", asked.model())
    assert first.ask("generator", "greeting", "hello there") == "hello there"
    with (tmp_path / "p" / "journal.jsonl").open("a") as stream:
        stream.write('{"kind": "asked", "role": "gen')  # as a killed process leaves it
    second = RoleModels(tmp_path / "p", asked.model())
    assert second.ask("generator", "greeting", "hello there") == "hello there"
    assert len(asked.prompts) == 1
    for role, purpose, prompt in (
        ("reviewer", "greeting", "hello there"),
        ("generator", "other", "hello there"),
        ("generator", "greeting", "hello again"),
    ):
        second.ask(role, purpose, prompt)  # type: ignore[arg-type]
    assert len(asked.prompts) == 4
    lines = (tmp_path / "p" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["asked"] * 4
    first_line = json.loads(lines[0])
    assert first_line["tokens"] > 0
    assert first_line["prompt"] == first_line["answer"] == "hello there"


def test_the_budget_is_over_all_papers_and_kept_before_a_request(tmp_path: Path) -> None:
    asked = Asked(word="word " * 100)
    one, other = (RoleModels(tmp_path / name, asked.model(), budget_tokens=100) for name in ("one", "other"))
    one.ask("generator", "words", "word")
    with pytest.raises(BudgetSpentError, match="--max-tokens"):
        other.ask("generator", "words", "word")
    assert len(asked.prompts) == 1
    one.ask("generator", "words", "word")  # kept: costs nothing
    assert other.budget.spent().answers == 1
    with pytest.raises(BudgetSpentError):
        RoleModels(tmp_path / "third", asked.model(), budget_tokens=1000).ask("generator", "words", "word " * 900)


def test_a_budget_of_money_needs_a_price(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no price is known"):
        RoleModels(tmp_path, "a-model-of-no-price", base_url="http://localhost:1/v1", budget_usd=1.0)
    RoleModels(tmp_path, "stand-in/competent", budget_usd=1.0)


def test_only_a_refusal_of_the_prompt_is_an_answer(tmp_path: Path) -> None:
    for reason in get_args(RefusalReason):

        def refuse(*_: object, reason: RefusalReason = reason) -> str:
            raise ModelRefusedError("temperature must be 1", reason=reason)

        models = RoleModels(tmp_path / reason, from_function("m", refuse))
        if reason in {"context-too-long", "content-filter", "bad-call"}:
            assert models.ask("generator", "any", "prompt") == ""
        else:
            with pytest.raises(ModelUnavailableError, match="m: temperature must be 1; check"):
                models.ask("generator", "any", "prompt")
        # Neither is kept as an answer: the next run asks again.
        (entry,) = models.journal.entries()
        assert (entry["kind"], entry["why"]) == ("refused", "temperature must be 1")
        models.close()


def test_a_stand_in_is_asked_from_any_thread(tmp_path: Path) -> None:
    with RoleModels(tmp_path / "p", "stand-in/competent") as models:
        found: list[str] = []
        threads = [
            threading.Thread(target=lambda n=n: found.append(models.ask("reviewer", "any", f"hello {n}")))
            for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 3
    assert all(entry["cost_usd"] == 0.0 for entry in models.journal.entries())


def test_answers_are_read_strictly() -> None:
    assert code_in(GOOD).startswith("def double")
    for wrong in ("x = 1", f"{GOOD}\n{GOOD}", "```python\ndef (\n```", "```python\n" + "#" * 30_000 + "\n```"):
        with pytest.raises(AnswerError):
            code_in(wrong)


@pytest.mark.sandbox
def test_code_sees_no_network_no_files_and_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "canary")
    (tmp_path / "secret").write_text("canary")
    probe = f"""
import os, socket
def tried(what):
    try:
        return str(what())
    except Exception as error:
        return type(error).__name__
print(tried(lambda: open({str(tmp_path / "secret")!r}).read()))
print(tried(lambda: socket.create_connection(("127.0.0.1", 80), 2)))
print(os.environ)
import pandas
print(open("/task/given/here.txt").read())
"""
    outcome = run_in_sandbox(probe, {"here.txt": b"given"})
    assert outcome.whole
    assert "canary" not in outcome.output
    assert outcome.output.rstrip().endswith("given")
    assert "FileNotFoundError\nPermissionError\n" in outcome.output


@pytest.mark.sandbox
def test_code_is_ended_at_its_limits_and_its_files_come_back() -> None:
    ended = run_in_sandbox("open('made', 'wb').write(b'made')", collect=("made", "other"))
    assert ended.files == {"made": b"made"}
    assert "other" in ended.lacking
    assert run_in_sandbox("while True: pass", limits=CodeLimits(timeout_s=1)).ended_by == "timeout"
    assert run_in_sandbox("while True: print('x' * 1000)", limits=CodeLimits(output_bytes=10_000)).ended_by == "output"
    assert not run_in_sandbox("x = bytearray(10 ** 10)", limits=CodeLimits(memory_mb=256)).whole


@pytest.mark.sandbox
def test_tests_come_first_and_decide_with_the_reviewer(tmp_path: Path) -> None:
    made, asked = double(tmp_path)
    assert made.accepted
    assert made.attempts == 1
    assert [prompt.split()[0] for prompt in asked.prompts] == ["tests", "write", "judge"]
    kinds = [str(entry["kind"]) for entry in PaperJournal(tmp_path).entries()]
    assert kinds == ["asked", "tests", "asked", "run", "asked", "verdict"]
    again, nobody = double(tmp_path)
    assert again == made
    assert nobody.prompts == []
    assert len(PaperJournal(tmp_path).entries()) == len(kinds)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "code",
    [
        "print('all tests passed')",
        'import os, sys\nsys.stdout.write(\'{"test_two": ""}\')\nsys.stdout.flush()\nos._exit(0)',
        "def double(x):\n    return x + 1",
        "while True: pass",
    ],
)
def test_a_claim_of_success_counts_for_nothing(code: str) -> None:
    tested = run_tests(code, code_in(TESTS), CodeLimits(timeout_s=2))
    assert not tested.good
    assert not tested.passed


@pytest.mark.sandbox
def test_a_reviewer_that_accepts_what_fails_is_not_believed(tmp_path: Path) -> None:
    made, _ = double(tmp_path, write="```python\ndef double(x):\n    return x\n```")
    assert not made.accepted
    assert made.attempts == 3 or "test_two" in made.why


def test_nonsense_ends_after_its_tries(tmp_path: Path) -> None:
    made, asked = double(tmp_path, tests="I have tested it. Success!")
    assert not made.accepted
    assert made.malformed
    assert "no tests" in made.why
    assert len(asked.prompts) == 3
