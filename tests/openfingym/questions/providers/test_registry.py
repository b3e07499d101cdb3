from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

from openfingym import plugins
from openfingym.errors import UsageError
from openfingym.questions.providers import OWN, PROVIDERS, find_provider
from tests.openfingym.questions.providers.questions import END, ask


@pytest.fixture
def installed(monkeypatch):
    """Lets the test say which entry points are installed."""
    entries: list[importlib.metadata.EntryPoint] = []
    monkeypatch.setattr(plugins, "entry_points", lambda group: [one for one in entries if one.group == group])
    return lambda name, value: entries.append(importlib.metadata.EntryPoint(name, value, "openfingym.providers"))


def test_every_provider_that_is_installed_can_be_made_and_is_named_as_its_entry_point():
    for name in PROVIDERS:
        found = find_provider(name, b"key")
        assert (found.name, found.simulated) == (name, name in {"simulated", "simulated-world"})
        found.close()


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match=r"no provider 'oracle'; known: manual, simulated, "):
        find_provider("oracle")


def test_an_installed_distribution_brings_a_provider(installed):
    installed("judge", "openfingym.questions.providers.manual:provider")
    assert find_provider("judge").name == "manual"
    assert list(PROVIDERS) == [*OWN, "judge"]


def test_an_installed_provider_may_not_take_the_name_of_another(installed):
    installed("kalshi", "somewhere:else")
    with pytest.raises(UsageError, match="'kalshi' of somewhere:else has the name of another provider"):
        find_provider("kalshi")
    assert find_provider("manual").name == "manual"


def test_a_broken_provider_is_named(installed):
    installed("judge", "openfingym.nowhere:provider")
    with pytest.raises(UsageError, match=r"'judge' of openfingym\.nowhere:provider cannot be loaded"):
        find_provider("judge")


def test_looking_one_up_loads_no_other():
    code = (
        "import sys; from openfingym.questions.providers import find_provider; find_provider('manual');"
        "print([name for name in sys.modules if name.startswith('openfingym.questions.providers.')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "['openfingym.questions.providers.manual']"


def test_manual_waits_for_the_operator():
    manual = find_provider("manual")
    question = ask("manual", {"url": "https://example.org/verdict"})
    manual.check(question)
    assert manual.answers([question], END + 1)[question.id].status == "waiting"
    assert manual.reference(question, END) is None
    with pytest.raises(UsageError, match=r"its query has 'market'; expected url \(optional\)"):
        manual.check(ask("manual", {"market": "x"}))
