"""``openfingym rounds``, as who runs a benchmark and who takes part in one use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import OpenFinGymError
from openfingym.questions import Question
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.openfingym.rounds.definitions import definition as series_definition

FOUR = """generator = "simulated"
category = "events"
market = "US"
horizons_days = [1]
events = ["Does it rain", "Does it snow", "Is there wind", "Is there fog"]
"""


def openfingym(*arguments: object, status: int = 0) -> Any:
    """What a command prints as JSON."""
    done = CliRunner().invoke(cli, [*map(str, arguments), "--json"])
    if isinstance(done.exception, OpenFinGymError):
        raise done.exception
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


def shown(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(series_definition("small", title="A small series (SIMULATED)", source=FOUR))
    return path


def participant(web: httpx.Client, verifier: EmbeddedVerifier, name: str) -> dict[str, str]:
    """The headers of a new participant."""
    operator = {"Authorization": f"Bearer {verifier.admin_token}"}
    key = web.post("/v1/participants", json={"name": name}, headers=operator).json()["key"]
    return {"Authorization": f"Bearer {key}"}


def test_three_weeks_with_a_good_and_a_bad_forecaster_from_outside(
    tmp_path: Path, definition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    with (
        EmbeddedVerifier.start([], state, policy="strict") as verifier,
        httpx.Client(transport=httpx.HTTPTransport(uds=str(verifier.uds)), base_url="http://verifier") as web,
    ):
        monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", verifier.admin_token)
        place = ("--verifier", verifier.uds, "--state-folder", state)
        keys = {name: participant(web, verifier, name) for name in ("alice", "bob")}

        def post(who: str, question: str, probability: float) -> httpx.Response:
            body = {"question": question, "answer": {"probability": probability}, "agent": who, "version": "1"}
            return web.post("/v1/forecasts", json=body, headers=keys[who])

        openfingym("rounds", "init", definition)
        asked: list[Question] = []
        said: dict[str, float] = {}
        for thursday in ("2026-10-29", "2026-11-05", "2026-11-12"):
            openfingym("rounds", "tick", *place, "--now", f"{thursday}T00:00:00Z")
            rows = web.get("/v1/questions", params={"open": "true"}, headers=keys["alice"]).json()
            assert len(rows) == 4
            for row in rows:
                asked.append(Question.from_dict(row["question"]))
                first = post("alice", asked[-1].id, 0.5)
                assert first.status_code == 201
                assert first.json()["receipt"]["checkpoint"]
                # What the market shows is told with one's own forecast: who says the same is good here.
                mine = web.get("/v1/forecasts", params={"question": asked[-1].id}, headers=keys["alice"]).json()
                market = said[asked[-1].id] = mine[0]["reference"]["probability"]
                assert post("alice", asked[-1].id, market).status_code == 201
                assert post("bob", asked[-1].id, 1.0 - market).status_code == 201
        found = openfingym("rounds", "status", *place)
        assert [(one["round"], one["state"], one["forecasts"]) for one in found["rounds"]] == [
            ("2026-W44", "settled", 16),
            ("2026-W45", "settled", 16),
            ("2026-W46", "open", 16),
        ]
        assert found["simulated"] is True
        done = openfingym("rounds", "tick", *place, "--now", "2026-11-16T12:00:00Z")
        assert [one["what"] for one in done["done"]] == ["closed", "resolved", "published"]

        late = post("bob", asked[-1].id, 1.0)
        assert late.status_code == 409
        assert late.json()["type"].rpartition(":")[2] in {"truth-known", "deadline-passed"}
        for method, path in (("POST", "/v1/clocks/small"), ("POST", "/v1/questions"), ("POST", "/v1/references")):
            body = {"now": 2**60, "questions": [asked[0].to_dict()], "question": asked[0].to_dict()}
            assert web.request(method, path, json=body, headers=keys["bob"]).status_code in {401, 403}

        report = openfingym("rounds", "report", "--state-folder", state, "--html", tmp_path / "page.html")
        assert (report["forecasts"], report["questions"], report["forecasters"]) == (48, 12, 4)
        [track] = report["tracks"]
        assert track["data_kind"] == "simulated"
        losses = {row["forecaster"]["agent"]: row["figures"]["loss"] for row in track["rows"]}
        wanted = {"alice": 0.0, "bob": 0.0, "naive": 0.25, "market-implied": 0.0}
        for one in asked:
            [resolution] = web.get(f"/v1/questions/{one.id}", headers=keys["bob"]).json()["resolutions"]
            payout, market = resolution["truth"], said[one.id]
            wanted["alice"] += (market - payout) ** 2 / len(asked)
            wanted["bob"] += (1.0 - market - payout) ** 2 / len(asked)
        wanted["market-implied"] = wanted["alice"]
        assert losses == pytest.approx(wanted, abs=1e-12)
        assert "SIMULATED" in (tmp_path / "page.html").read_text()
        assert "bob" in shown("rounds", "report", "--state-folder", state)

        folder = Path(openfingym("rounds", "init", definition)["folder"]) / "2026-W46"
        published = json.loads((folder / "report.json").read_text())
        assert (published["published_at"], published["forecasts"]) == ("2026-11-16T04:00:00Z", 48)
        assert "SIMULATED" in (folder / "report.html").read_text()


def test_one_starts_a_ledger_of_ones_own(definition: Path) -> None:
    with pytest.raises(OpenFinGymError, match="there is no series; begin one with `openfingym rounds init FILE`"):
        openfingym("rounds", "tick")
    openfingym("rounds", "init", definition)
    with pytest.raises(OpenFinGymError, match="small has asked nothing yet"):
        openfingym("rounds", "report")

    first = openfingym("rounds", "tick", "--now", "2026-11-05T00:00:00Z")

    assert [one["what"] for one in first["done"]].count("generated") == 2
    assert openfingym("rounds", "report", "small")["forecasts"] == 8
    assert "SIMULATED" in shown("rounds", "status")


def test_another_ledger_knows_nothing_of_the_rounds(tmp_path: Path, definition: Path) -> None:
    openfingym("rounds", "init", definition)
    now = ("--now", "2026-10-29T00:00:00Z")
    first = openfingym("rounds", "tick", *now, "--state-folder", tmp_path / "one")
    assert "generated" in {deed["what"] for deed in first["done"]}
    with pytest.raises(
        OpenFinGymError, match=r"the rounds of small are in the log .*, and this ledger's is .*: name the"
    ):
        openfingym("rounds", "tick", *now, "--state-folder", tmp_path / "other")
    assert openfingym("ledger", "status", "--state-folder", tmp_path / "other")["clocks"] == {}
    assert openfingym("rounds", "tick", *now, "--state-folder", tmp_path / "one")["done"] == []


def test_what_the_library_brings_is_begun_by_its_name() -> None:
    assert openfingym("rounds", "init")["simulated"] is True
    real = openfingym("rounds", "init", "weekly-real")

    assert (real["clock"], real["simulated"]) == ("real", False)
    assert openfingym("rounds", "status")["series"] == "weekly-real"  # the one that was begun last
    openfingym("rounds", "init", "weekly")
    assert openfingym("rounds", "status")["series"] == "weekly"
