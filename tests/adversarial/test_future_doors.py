"""A program tries every door to what became known after its question's time; canaries a microsecond behind it sing."""

from __future__ import annotations

import json
import logging
import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import openfingym
from openfingym.agents import Agent
from openfingym.suites.suite import Observation, SuiteQuestion
from openfingym.vault import Vault
from openfingym_suites.mirai.suite import SUITE as MIRAI

sys.path.insert(0, str(Path(__file__).parent))
import future_calls

HERE = Path(__file__).parent
ISOLATED = [pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]
TASK = """
schema_version = "1.4"
[task]
name = "openfingym/canary-forecast"
version = "1.0.0"
description = "Forecast what is not known yet."
keywords = ["questions", "simulated"]
[metadata.openfingym]
format = 1
family = "questions"
asset_class = "synthetic"
frequency = "daily"
panel = "canaries"
[metadata.openfingym.dataset]
name = "canary-world"
[metadata.openfingym.contract]
kind = "qa"
suite = "canaries"
unit = "1 for a code that is named, else 0"
low = 0.0
high = 1.0
[metadata.openfingym.scoring]
baseline = "naive"
[[metadata.openfingym.scoring.metrics]]
name = "second_level_f1"
weight = 1.0
[metadata.openfingym.verification]
budget = 5
[metadata.openfingym.provenance]
paper = "none"
note = "SIMULATED."
"""


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The suite, installed for this process and those it starts."""
    site = tmp_path_factory.mktemp("site")
    info = site / "canaries-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: canaries\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[openfingym.suites]\ncanaries = canary_suite:SUITE\n")
    shutil.copy(HERE / "canary_suite.py", site)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(site), *(path for path in sys.path if path != str(HERE))])
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        import canary_suite

        canary_suite.write_world()
        yield canary_suite


@pytest.fixture(scope="module")
def task(canaries: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("task") / "canary-forecast"
    folder.mkdir()
    (folder / "task.toml").write_text(TASK)
    (folder / "instruction.md").write_text("# Canaries\n\nSay what will happen.\n")
    return folder


@pytest.fixture(scope="module")
def truncated(canaries: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Vault]:
    """For each question's time, a vault without what became known later."""
    vault, folder = Vault.open(canaries.FOLDER), tmp_path_factory.mktemp("truncated")
    return [vault.truncated(time, folder / str(number)) for number, time in enumerate(canaries.TIMES)]


def asked(canaries: ModuleType, vault: Vault, place: int) -> Any:
    """The tools of a question."""
    question = SuiteQuestion("q", "", canaries.TIMES[place].isoformat(), {})
    return MIRAI.lookup(vault, question, MIRAI.options({}))


def program(seed: int = 0) -> str:
    calls, rest = ((HERE / f"future_{name}.py").read_text() for name in ("calls", "program"))
    return calls + rest.replace("from future_calls import BAIT, calls  # both are one program there\n", "")


@pytest.mark.parametrize("backend", ISOLATED)
def test_a_hostile_program_sees_nothing_from_behind_its_question(
    canaries: ModuleType, task: Path, truncated: list[Vault], backend: str, tmp_path: Path
) -> None:
    result = openfingym.run(task, agent=Agent("hostile", "program", program()), backend=backend, out=tmp_path)
    assert result.path is not None
    output = (result.path / "output.log").read_text()
    assert (result.state, result.exit_code) == ("scored", 0), output[-3000:]
    report = json.loads(output.splitlines()[-1])
    for name, status in report["statuses"].items():
        expected = {404} if "/" in name else {400, 409, 413, 415, 422}
        assert status in expected, (name, status, report["problems"].get(name))
    assert report["problems"]["before reset"] == "out-of-step"
    assert report["problems"]["after the end"] == "episode-over"
    assert report["files"] == []
    assert set(report["flood"]) <= {0, 200, 503}
    assert 200 in report["flood"]
    said = [*map("\n".join, report["said"])]
    assert len(said) == 5
    for place, text in enumerate(said[1:]):
        seen = [number for number in range(4) if canaries.secret(number) in text]
        assert all(number < place for number in seen), "nothing from behind the time of a question"
        assert place == 0 or place - 1 in seen, "what became known before is shown"
    last = canaries.secret(3).encode()
    shown = [path for path in tmp_path.rglob("*") if path.is_file() and last in path.read_bytes()]
    assert shown == [], "nothing that a run leaves has what became known after its last question"
    # Each answer is that of a vault which never had more.
    assert len(report["answers"]) > 40
    tools = [asked(canaries, vault, place) for place, vault in enumerate(truncated)]
    compared = 0
    for key, found in report["answers"].items():
        place, name, arguments = json.loads(key)
        if "refused" in found or "made before" in found["text"] or name not in future_calls_tools():
            continue
        early: Observation = tools[place](name, arguments)
        assert found["text"].startswith(early.text[:20_000]), (place, name, arguments)
        assert found["value"] == json.loads(json.dumps(early.value))
        compared += 1
    assert compared > 40


def future_calls_tools() -> set[str]:
    return {tool.name for tool in MIRAI.tools(MIRAI.options({}))}


def test_every_call_is_answered_as_by_a_vault_without_what_came_later(
    canaries: ModuleType, truncated: list[Vault]
) -> None:
    """All calls of the attacker at all times: same texts, same values, no secret, and no word in any log."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    vault = Vault.open(canaries.FOLDER)
    try:
        for place, time in enumerate(canaries.TIMES):
            whole, early = asked(canaries, vault, place), asked(canaries, truncated[place], place)
            for calls in future_calls.calls(f"{time:%Y-%m-%d}").values():
                for name, arguments in calls:
                    found = whole(name, arguments)
                    assert found == early(name, arguments), (place, name, arguments)
                    said.append(found.text + repr(found.value))
                    assert not any(canaries.secret(number) in said[-1] for number in range(place, 4))
    finally:
        logging.getLogger().removeHandler(handler)
    assert any(canaries.secret(2) in text for text in said), "what is known is shown"
    assert not any(canaries.secret(3) in text for text in said)


def test_a_later_word_is_answered_as_one_that_never_comes(canaries: ModuleType) -> None:
    """Whoever guesses a word cannot tell whether it is about to be written."""
    tools = asked(canaries, Vault.open(canaries.FOLDER), 0)
    for name, form in [("get_news_articles", "{} border"), ("get_events", "{} ministers"), ("get_news_articles", "{}")]:
        later, never = (tools(name, {"text_description": form.format(word)}) for word in (BAITED, future_calls.NEVER))
        assert later == never
    for keywords in (["{}"], ["border", "{}"], ["{} at the border"]):
        later, never = (
            tools("count_news_articles", {"keywords": [one.format(word) for one in keywords]})
            for word in (BAITED, future_calls.NEVER)
        )
        assert later == never


BAITED = f"{future_calls.BAIT}q7hx0www"


def test_what_holds_a_vault_cannot_be_pickled(canaries: ModuleType) -> None:
    vault = Vault.open(canaries.FOLDER)
    view = vault.as_of(canaries.TIMES[0])
    from openfingym_suites.mirai.tools import Tools

    for one in (vault, view, Tools(view), asked(canaries, vault, 0)):
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
            pickle.dumps(one)
