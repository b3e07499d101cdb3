"""Policies of the stand-in that other distributions bring."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from openfingym.errors import UsageError
from openfingym.models.testing import POLICIES, StandIn, find_policy, known_models
from openfingym.models.testing.policies import ENTRY_POINT_GROUP

CODE = """
from openfingym.models.testing import Reply

class Parrot:
    def respond(self, request):
        return Reply(request.messages[-1].content)

def mute():
    raise OSError("no voice")
"""


@pytest.fixture(autouse=True)
def _parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "parrots-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[{ENTRY_POINT_GROUP}]\nparrot = parrots:Parrot\nmute = parrots:mute\ncompetent = parrots:mute\n"
    )
    (tmp_path / "parrots.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_policy_of_another_distribution_answers_and_meets_faults() -> None:
    body = {"model": "stand-in/parrot", "messages": [{"role": "user", "content": "Ahoy"}]}
    with StandIn() as stand_in:
        said = httpx.post(f"{stand_in.base_url}/chat/completions", json=body).json()
        listed = httpx.get(f"{stand_in.base_url}/models").json()["data"]
        mute = httpx.post(f"{stand_in.base_url}/chat/completions", json=body | {"model": "stand-in/mute"})
        failed = httpx.post(f"{stand_in.base_url}/chat/completions", json=body | {"model": "stand-in/parrot+error-503"})
    assert said["choices"][0]["message"]["content"] == "Ahoy"
    assert "stand-in/parrot" in {one["id"] for one in listed}
    assert (mute.status_code, mute.json()["error"]["message"]) == (
        400,
        "the stand-in 'mute' cannot be made: no voice",
    )
    assert failed.status_code == 503


def test_the_librarys_own_come_first() -> None:
    assert type(find_policy("stand-in/competent")[0]) is POLICIES["competent"]
    assert known_models()[: len(POLICIES)] == tuple(f"stand-in/{name}" for name in POLICIES)
    with pytest.raises(UsageError, match=r"no stand-in is named 'stand-in/parot'; did you mean 'stand-in/parrot'\?"):
        find_policy("stand-in/parot")
    with pytest.raises(UsageError, match="no stand-in is named 'parrot'"):
        find_policy("parrot")
