"""Scores under published protocols are precise and cost no budget: an agent that could ask for them would have an
oracle for the hidden windows. It cannot: nothing that serves agents knows of them.

The attack: asking for them by route, query or import. The gate passes fixed targets alone.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_runtime.gate.gate import Gate, GateKeeper
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[2]
TASK = "us5-stock-generation"
TARGETS = (
    "/v1/published",
    "/v1/protocol",
    "/v1/score",
    "/v1/submissions/1/published",
    "/v1/submissions?protocol=published",
    "/v1/submissions/?protocol=published",
    "/v1/rollout?protocol=published",
    "/v1/task?protocol=published",
)


@pytest.fixture(scope="module")
def package(store_home: Path) -> BuiltPackage:
    return build(load_task(TASK))


@pytest.fixture(scope="module")
def verifier(package: BuiltPackage) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([package]) as running:
        yield running


@pytest.fixture
def gate(verifier: EmbeddedVerifier) -> Iterator[Gate]:
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as client:
        ticket = client.create_rollout(TASK, agent="array")
    with (
        GateKeeper(verifier.uds) as keeper,
        keeper.open(rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=10**7, max_calls=100) as gate,
    ):
        yield gate


def answer(package: BuiltPackage) -> bytes:
    body = io.BytesIO()
    np.save(body, np.zeros(package.manifest.submission_shape))
    return body.getvalue()


def test_no_request_of_an_agent_asks_for_them(gate: Gate, package: BuiltPackage) -> None:
    transport = httpx.HTTPTransport(uds=str(gate.socket))
    with httpx.Client(transport=transport, base_url="http://gate", timeout=30) as http:
        for target in TARGETS:
            assert http.get(target).status_code == 404
            sent = http.post(target, content=answer(package), headers={"Content-Type": "application/x-npy"})
            assert sent.status_code in {404, 405}
        seen = http.get("/v1/rollout").json()
        assert (seen["submissions"], seen["remaining"]) == ([], seen["budget"])


def test_the_verifier_has_no_route_to_them_for_anybody(verifier: EmbeddedVerifier) -> None:
    transport = httpx.HTTPTransport(uds=str(verifier.uds))
    admin = {"Authorization": f"Bearer {verifier.admin_token}"}
    with httpx.Client(transport=transport, base_url="http://verifier", headers=admin, timeout=30) as http:
        for target in TARGETS[:4]:
            assert http.get(target).status_code in {404, 405}
            assert http.post(target).status_code in {404, 405}


def importers() -> set[str]:
    """Modules of the library, the verifier, the runtime and the tenants that import the protocols."""
    found = set()
    for folder in ("openfingym", "verifier", "runtime", *TENANTS):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "published" in text else ():
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [f"{node.module}.{one.name}" for one in node.names] if isinstance(node, ast.ImportFrom) else []
                names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
                if any(f"{name}.".startswith("openfingym.published.") for name in names):
                    found.add(path.relative_to(ROOT).as_posix())
    return {name for name in found if not name.startswith("openfingym/published/")}


def test_only_the_command_line_imports_them() -> None:
    assert importers() == {"openfingym/cli/published.py"}


def test_what_is_shown_to_agents_does_not_name_them(package: BuiltPackage) -> None:
    for path in [*package.public.rglob("*"), *(ROOT / "runtime" / "agent").rglob("*.py")]:
        if path.is_file() and path.suffix in {".py", ".md", ".json", ".toml", ".sh"}:
            assert "openfingym.published" not in path.read_text(encoding="utf-8")
