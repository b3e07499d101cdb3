"""Download scripts: what a real server sends, and what a script may not do."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from openfingym.models.testing.conversation import CompletionRequest
from openfingym_forge.blueprint import Blueprint, Stated, Value
from openfingym_forge.data import DataStage
from openfingym_forge.data.download import fault_of, run_script, settings_of
from openfingym_forge.data.provenance import read_provenance
from openfingym_forge.data.script_world import screen
from openfingym_forge.paper import Paper
from openfingym_forge.stage import CandidateTask, Role
from openfingym_forge.stand_in import Forge

pytestmark = pytest.mark.sandbox
CORPUS = Path(__file__).parent
PAPER = Paper("a-paper-00000000", "A paper", "", "text", (), (), "en", "text", "a.txt", "0" * 64, "0" * 64)
HOST = "data.ruritania.example"


def table() -> pd.DataFrame:
    steps = np.random.default_rng(3).normal(0, 0.03, (300, 2))
    frame = pd.DataFrame(np.exp(5 + steps.cumsum(axis=0)), columns=["wheat", "rye"]).round(3)
    frame.insert(0, "date", pd.date_range("2010-01-08", periods=300, freq="W-FRI").strftime("%Y-%m-%d"))
    return frame


class Served(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.strip("/").partition("?")[0]
        frame = table()
        bodies = {
            "good.csv": frame.to_csv(index=False),
            "page.csv": "<!DOCTYPE html><html><body>We have moved</body></html>",
            "renamed.csv": frame.rename(columns={"rye": "barley"}).to_csv(index=False),
            "short.csv": frame.iloc[:100].to_csv(index=False),
            "ahead.csv": frame.assign(next_wheat=frame["wheat"].shift(-1).ffill()).to_csv(index=False),
        }
        if name == "away.csv":
            self.send_response(302)
            self.send_header("Location", "http://elsewhere.example/x.csv")
            self.end_headers()
        elif name == "endless.csv":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"x" * (1 << 20))
        elif name in bodies:
            self.send_response(200)
            self.send_header("Content-Type", "text/csv")
            self.end_headers()
            self.wfile.write(bodies[name].encode())
        else:
            self.send_error(404)

    def log_message(self, *_args: object) -> None:
        pass


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_args: object) -> None:
        """The proxy hangs up on what is too long."""


@contextmanager
def serving() -> Iterator[str]:
    with Quiet(("127.0.0.1", 0), Served) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"{HOST}=127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with serving() as place:
        yield place


class StandIn:
    """The stand-in, asked in this process."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        self.asked.append(f"{role} {purpose}")
        return Forge().respond(CompletionRequest.read({"messages": [{"role": "user", "content": prompt}]})).content


def blueprint_of(name: str = "good.csv", **more: Value) -> Blueprint:
    fields: dict[str, Value] = {
        "family": "forecasting",
        "frequency": "weekly",
        "data.source": "Grain exchange of Ruritania",
        "data.series": ["wheat", "rye"],
        "data.columns": ["date", "wheat", "rye"],
        "data.url": f"http://{HOST}/{name}",
        "data.start": date(2010, 1, 8),
        "data.end": date(2015, 10, 2),
        "data.licence": "CC BY 4.0",
        "data.measure": "price",
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    stated = {key: Stated(value=value, assumed="for the test") for key, value in fields.items()}
    return Blueprint(paper=PAPER.key, title=PAPER.title, name="grain", fields=stated)


def candidate_of(folder: Path, blueprint: Blueprint) -> CandidateTask:
    folder.mkdir(parents=True, exist_ok=True)
    return CandidateTask(folder, PAPER, StandIn(), blueprint)


def test_a_csv_is_downloaded_judged_and_kept_with_its_log(served: str, tmp_path: Path) -> None:
    candidate = candidate_of(tmp_path / "papers" / "one", blueprint_of())
    result = DataStage(local_hosts=[served]).run(candidate)
    assert (result.state, result.reasons) == ("passed", ())
    folder = candidate.folder / "data"
    found = read_provenance(folder)
    assert found is not None
    assert (found.how, found.pass_on, found.rows) == ("script", True, 300)
    assert found.dataset["channels"] == ["wheat", "rye"]
    assert pd.read_csv(folder / "data.csv")["rye"].tolist() == table()["rye"].tolist()
    (entry,) = json.loads((folder / "proxy-log.json").read_text())
    assert (entry["url"], entry["status"]) == (f"http://{HOST}/good.csv", 200)
    assert candidate.asking.asked[0] == "reviewer script-tests"  # type: ignore[attr-defined]  # before any script
    other = tmp_path / "papers" / "other" / "data"
    replace(found, address="http://elsewhere.example/other.csv").write(other)
    again = DataStage().run(candidate_of(tmp_path / "papers" / "two", blueprint_of()))
    assert (again.state, again.facts["reused"], again.facts["shared_with"]) == ("passed", "one", ["one"])


def test_the_corpus_s_own_file_passes(tmp_path: Path) -> None:
    key = tomllib.loads((CORPUS / "key" / "KEY.toml").read_text(encoding="utf-8"))["dry-bulk"]["fields"]
    stated = {name: Stated(value=value, assumed="from the key") for name, value in key.items() if name != "dataset"}
    blueprint = Blueprint(paper=PAPER.key, title=PAPER.title, name="dry-bulk", fields=stated)
    handler = partial(SimpleHTTPRequestHandler, directory=str(CORPUS / "served"))
    with Quiet(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        place = f"data.freight-rates.example=127.0.0.1:{server.server_address[1]}"
        result = DataStage(local_hosts=[place]).run(candidate_of(tmp_path / "one", blueprint))
        server.shutdown()
    assert (result.state, result.reasons) == ("passed", ())
    assert read_provenance(tmp_path / "one" / "data").rows == 1200  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "more", "state", "code"),
    [
        ("gone.csv", {}, "refused", "data-unavailable"),
        ("away.csv", {}, "refused", "data-unavailable"),
        ("page.csv", {}, "refused", "data-changed"),
        ("renamed.csv", {}, "refused", "data-changed"),
        ("short.csv", {}, "refused", "data-changed"),
        ("endless.csv", {}, "refused", "script-refused"),
        (
            "ahead.csv",
            {"data__columns": ["date", "wheat", "rye", "next_wheat"], "data__target": "wheat"},
            "refused",
            "look-ahead-column",
        ),
        ("good.csv", {"data__licence": "no redistribution"}, "refused", "licence-forbids"),
    ],
)
def test_what_a_server_sends_is_refused_with_its_code(
    name: str, more: dict[str, Value], state: str, code: str, served: str, tmp_path: Path
) -> None:
    result = DataStage(local_hosts=[served]).run(candidate_of(tmp_path / "one", blueprint_of(name, **more)))
    assert (result.state, [reason.code for reason in result.reasons]) == (state, [code]), result.reasons
    assert read_provenance(tmp_path / "one" / "data") is None


def test_a_host_that_is_not_there_may_come_back_and_a_private_one_is_refused(tmp_path: Path) -> None:
    gone = DataStage(local_hosts=[f"{HOST}=127.0.0.1:9"]).run(candidate_of(tmp_path / "one", blueprint_of()))
    assert (gone.state, gone.reasons[0].code) == ("failed", "data-unavailable")
    private = blueprint_of(data__url="http://127.0.0.1:8/x.csv")
    found = DataStage().run(candidate_of(tmp_path / "two", private))
    assert (found.state, found.reasons[0].code) == ("refused", "data-unavailable")
    assert "no public address" in found.reasons[0].text


READ = "import urllib.request\nurllib.request.urlopen({!r}).read()\n"


@pytest.mark.parametrize(
    ("script", "evidence"),
    [
        ("print(open('/etc/passwd').read())", "/etc/passwd"),
        ("import os\ntry:\n    open(os.path.expanduser('~/.ssh/id_rsa'))\nexcept OSError:\n    pass", ".ssh/id_rsa"),
        (READ.format("http://elsewhere.example/x"), "elsewhere.example"),
        (READ.format(f"http://{HOST}@elsewhere.example/x"), "elsewhere.example"),
        (READ.format("http://elsewhere.example:22/x"), "elsewhere.example"),
        (READ.format(f"http://{HOST}.elsewhere.example/x"), "elsewhere.example"),
        (f"import urllib.request\nurllib.request.urlopen('http://{HOST}/in', data=b'secret')", "POST"),
        ("import socket\nsocket.create_connection(('198.51.100.7', 80), 2)", "198.51.100.7"),
        ("import subprocess\nsubprocess.run(['id'])", "starts a program"),
        ("while True:\n    pass", "did not end"),
        ("with open('data.csv', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))", "64 MB"),
    ],
)
def test_a_script_that_misbehaves_is_refused_with_the_evidence(script: str, evidence: str, served: str) -> None:
    # As if the screening had seen nothing: the sandbox and the proxy hold alone.
    seconds = 6.0 if "while True:\n    pass" in script else 60.0
    fault = fault_of(run_script(script, settings_of(blueprint_of(), [served], seconds)))
    assert fault is not None
    assert fault.code == "script-refused"
    assert evidence in fault.text


@pytest.mark.parametrize(
    "script",
    [
        "import os",
        "import requests",
        "from subprocess import run",
        "eval('1')",
        "().__class__.__bases__",
        "open('/etc/passwd')",
        "from pathlib import Path\nPath.home()",
        "import pandas as pd\npd.read_csv('https://elsewhere.example/x.csv')",
        "this is no Python",
    ],
)
def test_screening_sees_what_a_script_may_not_have(script: str) -> None:
    assert screen(script, {HOST})


def test_screening_passes_an_ordinary_script() -> None:
    script = f"import pandas as pd\npd.read_csv('http://{HOST}/good.csv').to_csv('data.csv', index=False)\n"
    assert screen(script, {HOST}) == []
