"""From what a user types to a model that answers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openfingym.errors import UsageError
from openfingym.models import Completion, Message, ModelSpec
from openfingym.models.testing import StandIn, known_models
from openfingym.models.testing.broken import SORTS
from openfingym.models.testing.faults import REFUSALS, WIRE, WRITTEN

ROOT = Path(__file__).resolve().parents[3]
HELLO = (Message("user", "inputs, targets = interface.load_train()"),)


def _ask(spec: ModelSpec) -> Completion:
    async def once() -> Completion:
        async with spec.open() as model:
            assert model.name == spec.name
            return await model.complete(HELLO)

    return asyncio.run(once())


def test_a_stand_in_is_started_and_stopped(no_key: None) -> None:
    before = threading.active_count()
    assert "interface" in _ask(ModelSpec.parse("stand-in/competent")).message.content
    assert threading.active_count() == before


def test_a_stand_in_that_runs_already(no_key: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn() as running:
        _ask(ModelSpec.parse("stand-in/competent", base_url=running.base_url))
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        _ask(ModelSpec("stand-in/careless", running.base_url))
        assert running.served == {"stand-in/competent": 1, "stand-in/careless": 1}


@pytest.mark.parametrize(
    ("name", "base_url", "says"),
    [
        ("", None, "needs a name"),
        ("gpt-4o", "localhost:8000", "begins with http"),
        ("stand-in/competnt", None, "did you mean 'stand-in/competent'"),
        ("stand-in/competent+fire", None, "no fault is named 'fire'"),
        ("stand-in/competent+hang:x", None, "NAME:TIMES"),
    ],
)
def test_what_cannot_be_meant(name: str, base_url: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        ModelSpec.parse(name, base_url=base_url)


def test_no_key_and_no_endpoint(no_key: None) -> None:
    with pytest.raises(UsageError, match=r"\$MY_KEY"):
        _ask(ModelSpec.parse("gpt-4o", key_variable="MY_KEY"))


def test_the_key_is_not_in_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" not in repr(ModelSpec.parse("gpt-4o"))


KEY = "sk-test-0123456789"


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://[::1]:8000/v1/", "http://[::1]:8000/v1/"),
        ("http://user:secret@gateway/v1", "http://gateway/v1"),
        ("http://secret@gateway:80/v1", "http://gateway:80/v1"),
        ("http://user:sec@ret@gateway/v1", "http://gateway/v1"),
        ("http://user:sec/ret@gateway/v1", "http://***"),
        ("http://user:sec?ret@gateway/v1", "http://***"),
        ("http://user:sec#ret@gateway/v1", "http://***"),
        ("http://user:sec/ret", "http://***"),
        ("http://user:12/secret@gateway/v1", "http://***"),
        ("http://gateway/v1?key=secret", "http://gateway/v1"),
        ("http://gateway/v1?mail=a@b&key=secret", "http://***"),
        ("http://gateway/v1#secret", "http://gateway/v1"),
        (f"http://gateway/{KEY}/v1", "http://gateway/***/v1"),
        ("http://[secret/v1", "***"),
    ],
)
def test_the_endpoint_is_known_wherever_it_was_stated_and_opens_nothing(
    url: str, kept: str, no_key: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert ModelSpec.parse("gpt-4o", base_url=url).endpoint == kept
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert ModelSpec.parse("gpt-4o").endpoint == kept
    assert "sec" not in kept
    assert KEY not in kept


def test_the_endpoint_where_nobody_states_one(no_key: None) -> None:
    import openai

    found = ModelSpec.parse("gpt-4o").endpoint
    assert found == str(openai.OpenAI(api_key="x").base_url).rstrip("/")
    assert ModelSpec.parse("stand-in/competent").endpoint is None


def test_importing_asks_for_no_client() -> None:
    heavy = "{'openai', 'tenacity', 'fastapi', 'pydantic'}"
    probe = f"import sys, openfingym.models, openfingym.models.testing; print(sorted({heavy} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_documentation(no_key: None, tmp_path: Path) -> None:
    """Its example runs as it stands, and it names every policy, sort and fault."""
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    example = tmp_path / "example.py"
    example.write_text(text.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "import interface" in done.stdout
    named = {name for name in known_models() if not name.startswith("stand-in/broken-")}
    names = {*REFUSALS, *WIRE, *WRITTEN, *SORTS} | named
    assert {name for name in names if name not in text} == set()
