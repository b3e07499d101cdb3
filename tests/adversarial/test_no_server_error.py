"""Nothing that an agent sends makes the verifier fail: a failure would be taken for ours, and the rollout be run again.

Documents of every format are drawn from a grammar in which each part may be wrong (`grammar.py`), and go through the
real application with a real ledger. ``OPENFINGYM_FUZZ_DOCUMENTS`` says how many; the figures in docs/trust.md are of
100,000.

Attacks that gave three more tries, and no place in the averages: a `.npy` header with a shape of `(True,)`, 65 axes or
3,900 digits, then a bad exit (`test_second_tries.py` sends it from a sandbox), and values at which a metric fails.
"""

from __future__ import annotations

import asyncio
import io
import json
import math
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.listener.connections import Connections
from openfingym.packages.build import build
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.http import app as http
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.participants.tokens import TokenIssuer
from openfingym_verifier.policy import POLICIES
from openfingym_verifier.rollouts.creation import CreationRequest
from openfingym_verifier.rollouts.rollout import Rollout
from openfingym_verifier.scoring.truth import HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden
from openfingym_verifier.service import Service
from openfingym_verifier.submissions.columnar import KINDS as TABLES
from openfingym_verifier.submissions.columnar_child import TableRefused, decode
from tests.adversarial.grammar import Grammar
from tests.sweeps import ALL, fixed_part

DOCUMENTS = int(os.environ.get("OPENFINGYM_FUZZ_DOCUMENTS", "2000"))
ADMIN = "an-admin-token-for-tests"
OUR_FAILURE = 500
ACTIONS = (
    '{"weights": [0.1, 0.1, 0.1]}',
    '{"orders": [{"symbol": "btc", "side": "buy", "quantity": 0.1}]}',
    '{"predictions": [0.1, 0.1]}',
    "null",
)
CONTROL = (
    ("POST", "/v1/rollouts", b'{"task": "%s", "seed": %s, "ttl_s": %s, "agent": %s}'),
    ("GET", "/v1/rollouts/%s", b""),
    ("GET", "/v1/rollouts/%s/submissions/%s", b""),
    ("POST", "/v1/rollouts/%s/finalize", b"%s"),
    ("DELETE", "/v1/participants/%s", b""),
    ("GET", "/v1/task?%s", b""),
    ("PUT", "/v1/season", b"%s"),
    ("POST", "/v1/submissions/../%s", b"%s"),
)


class Running:
    """A verifier's application, asked in this process."""

    def __init__(self, task: HiddenTask, state: Path) -> None:
        self.task, self.state = task, state
        self._ledger = Ledger(state)
        self.service = Service({task.name: task}, self._ledger, policy=POLICIES["local"])
        self._tokens = TokenIssuer(bytes(32), ADMIN)
        self.app = http.build_app(self.service, self._tokens, Connections(64), body_timeout_s=30.0, version="0")
        self.statuses: Counter[int] = Counter()
        self.failed: list[object] = []

    async def rollout(self) -> tuple[Rollout, list[tuple[bytes, bytes]]]:
        """A new one, with the header that its agent sends."""
        rollout = await self.service.create(CreationRequest(self.task.name, ttl_s=1e6))
        return rollout, bearer(self._tokens.issue(rollout.id, rollout.row.expires_ns))

    async def ask(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes, case: object
    ) -> dict[str, Any]:
        """The answer's document; its status is counted."""
        sent: list[dict[str, Any]] = []
        messages = iter([{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}])

        async def receive() -> dict[str, Any]:
            return next(messages)

        async def send(message: Any) -> None:
            sent.append(dict(message))

        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": query.encode(),
            "headers": headers,
            "client": None,
            "server": None,
        }
        await self.app(scope, receive, send)  # type: ignore[arg-type]  # mappings, as ASGI has them
        status = sent[0]["status"]
        self.statuses[status] += 1
        if status >= OUR_FAILURE:
            self.failed.append(case)
        is_json = b"json" in dict(sent[0]["headers"]).get(b"content-type", b"")
        found: dict[str, Any] = json.loads(b"".join(one.get("body", b"") for one in sent[1:])) if is_json else {}
        return found

    async def end(self, rollout: Rollout) -> str:
        """State of its result, which must be there whatever was sent."""
        return str((await self.service.finalize(rollout))["state"])

    def close(self) -> None:
        self.service.close()
        self._ledger.close()


def bearer(token: str) -> list[tuple[bytes, bytes]]:
    return [(b"authorization", b"Bearer " + token.encode())]


def without_limits(task: HiddenTask) -> HiddenTask:
    """The task with any number of submissions at any rate."""
    rules = task.spec.verification.model_copy(update={"requests_per_minute": 1e12, "burst": 10**9})
    return replace(task, spec=task.spec.model_copy(update={"verification": rules}))


@pytest.fixture(scope="module")
def hidden(store_home: Path) -> Callable[[str], HiddenTask]:
    return lambda name: without_limits(load_hidden(build(load_task(name))))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Callable[[HiddenTask], Running]]:
    made: list[Running] = []

    def run(task: HiddenTask) -> Running:
        made.append(Running(task, tmp_path / str(len(made))))
        return made[-1]

    yield run
    for one in made:
        one.close()


def drive(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]  # a coroutine is awaitable


def test_submissions(hidden: Callable[[str], HiddenTask], running: Callable[[HiddenTask], Running]) -> None:
    task = hidden("cert-fraud")
    grammar = Grammar(1, task.shape)

    async def work() -> None:
        rollout, token = await one.rollout()
        for number in range(DOCUMENTS):
            if rollout.remaining == 0:
                assert await one.end(rollout) == "scored"
                rollout, token = await one.rollout()
            media, body = grammar.submission()
            await one.ask(
                "POST", "/v1/submissions", [*token, *grammar.headers(media)], body, (number, media, body[:300])
            )
        assert await one.end(rollout) in {"scored", "rejected"}

    one = running(task)
    drive(work)
    assert not one.failed, f"{len(one.failed)} documents made the verifier fail, among them {one.failed[:3]}"
    assert one.statuses[422] > 0.3 * DOCUMENTS
    assert one.statuses[201] > 0.01 * DOCUMENTS, "so that documents are only a little wrong"


@pytest.mark.parametrize("name", ["crypto-trading", "equity-rolling-forecast"])
def test_steps(name: str, hidden: Callable[[str], HiddenTask], running: Callable[[HiddenTask], Running]) -> None:
    task = hidden(name)
    grammar = Grammar(2, task.shape)

    async def work() -> None:
        rollout, token = await one.rollout()
        await one.ask(
            "POST", "/v1/episodes", [*token, (b"content-type", b"application/json")], b'{"fold": "public"}', "start"
        )
        step = 0
        for number in range(DOCUMENTS // 4):
            text = grammar.message(ACTIONS).replace('"step": 1', f'"step": {step + 1}')
            path = "/v1/steps" if number % 20 else "/v1/episodes"
            body = grammar.bent(text.encode("utf-8", "surrogatepass"))
            found = await one.ask(
                "POST", path, [*token, *grammar.headers("application/json")], body, (number, body[:300])
            )
            step = found["step"] if isinstance(found.get("step"), int) else step
            if found.get("truncated") or found.get("terminated"):
                break
        assert await one.end(rollout) in {"scored", "rejected"}

    one = running(task)
    drive(work)
    assert not one.failed, f"{len(one.failed)} messages made the verifier fail, among them {one.failed[:3]}"
    assert one.statuses[422] > 0
    assert one.statuses[200] > 0


def test_everything_else_that_a_participant_reaches(
    hidden: Callable[[str], HiddenTask], running: Callable[[HiddenTask], Running]
) -> None:
    task = hidden("treasury-forecast")
    grammar = Grammar(3, task.shape)

    async def work() -> None:
        for number in range(DOCUMENTS // 4):
            method, path, body = CONTROL[number % len(CONTROL)]
            holes = [grammar.value(1).encode("utf-8", "surrogatepass") for _ in range(body.count(b"%s"))]
            segments = tuple(grammar.value(1)[:200].replace("/", "%2F") for _ in range(path.count("%s")))
            filled = grammar.bent(body % tuple(holes)) if holes else body
            where = path % segments
            headers = [*bearer(ADMIN), (b"content-type", b"application/json")]
            await one.ask(
                method, where.encode("ascii", "replace").decode(), headers, filled, (number, where[:200], filled[:200])
            )

    one = running(task)
    drive(work)
    assert not one.failed, f"{len(one.failed)} requests made the verifier fail, among them {one.failed[:3]}"
    assert one.statuses[422] > 0


NOW_NS, HOUR_NS = 1_800_000_000 * 10**9, 3600 * 10**9
FORMS: dict[str, tuple[dict[str, object], object]] = {
    "probability": ({}, 0.5),
    "probabilities": ({"outcomes": ["a", "b", "c"]}, {"a": 0.5, "b": 0.25, "c": 0.25}),
    "choice": ({"outcomes": ["a", "b"]}, "a"),
    "value": ({"unit": "USD", "measure": "amount"}, 1.0),
    "quantiles": ({"levels": [0.1, 0.9]}, [1.0, 2.0]),
    "interval": ({"levels": [0.9]}, [1.0, 2.0]),
}
"""What a question of each form has besides, and an answer to it."""
UNFIT: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**62, 2**63, 10**30, -(10**30), 10**400, 1.5, 5e-324, 1e308, math.nan, math.inf, -math.inf),
    *("", "a", "\0", "\ud800", "\u202e", "x" * 300, "x" * 5000, "9" * 999, "real", "yes", "manual", "recorded"),
    *("2026-11-26", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
    *([], {}, [[]], [None], ["a", "b"], [1, 2], {"a": 1}, {"\ud800": 1}, {"probability": 0.5}, [1] * 1000),
)
READS = (
    "/v1/questions?state=%s&round=%s&open=%s&after=%s&limit=%s",
    "/v1/questions?after=%s",
    "/v1/questions?round=%s",
    "/v1/questions/%s",
    "/v1/forecasts?question=%s&agent=%s",
    "/v1/forecasts?after=%s&limit=%s",
    "/v1/forecasts/%s/receipt",
    "/v1/forecasts/1/receipt",
    "/v1/receipts/%s",
    "/v1/tile/%s",
    "/v1/tile/0/000.p/%s",
    "/v1/tile/entries/%s",
    "/v1/rollouts/%s/receipt",
    "/v1/rollouts/%s/result",
    "/v1/rollouts/%s/settle",
    "/v1/rollouts/%s/token",
    "/v1/checkpoint",
    "/v1/ledger",
)


def question(name: str, form: str, provider: str) -> dict[str, Any]:
    document = {"id": name, "text": "?", "form": form, "provider": provider, "query": {}, "clock": "sim"}
    document |= {"outcomes": [], "levels": [], "unit": "", "measure": None, "category": "c", "market": "m"}
    document |= {"generated_ns": NOW_NS, "deadline_ns": NOW_NS + HOUR_NS, "evaluation_ns": NOW_NS + 2 * HOUR_NS}
    return document | {"rules": "r", "round": "w"} | FORMS[form][0]


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every object or list in a document, with each of its keys."""
    for key in list(document) if isinstance(document, dict) else range(len(document)):
        yield document, key
        if isinstance(document[key], dict | list):
            yield from places(document[key])


def test_everything_about_questions_forecasts_and_the_log(
    hidden: Callable[[str], HiddenTask], running: Callable[[HiddenTask], Running]
) -> None:
    draw = random.Random(7)

    def bent(document: Any) -> bytes:
        document = json.loads(json.dumps(document))
        for _ in range(draw.choice((0, 1, 1, 1, 2))):
            inside, key = draw.choice(list(places(document)) or [([None], 0)])
            if draw.random() < 0.15 and isinstance(inside, dict):
                del inside[key]
            else:
                inside[key] = draw.choice(UNFIT)
        return json.dumps(document).encode()

    def write(number: int) -> tuple[str, Any]:
        place = draw.randrange(len(FORMS))
        form, answer = list(FORMS)[place], list(FORMS.values())[place][1]
        unit = {"unit": "USD"} if form == "value" else {}
        asked = question(f"new{number}", form, draw.choice(("manual", "recorded")))
        payouts = [1.0, 0.0, 0.0] if form == "probabilities" else [1.0, 0.0] if form == "choice" else 1.0
        truth = {"question": f"recorded-{form}", "available_ns": NOW_NS + 2 * HOUR_NS, "truth": payouts}
        verdict = {"question": draw.choice((None, f"manual-{form}")), "truth": payouts, "evidence": {"e": 1}}
        documents: list[tuple[str, Any]] = [
            ("/v1/questions", {"questions": [asked]}),
            ("/v1/forecasts", {"question": f"manual-{form}", "answer": {form: answer} | unit, "agent": "x"}),
            ("/v1/recordings", {"truths": [truth | {"source": "s", "reference": {"probability": 0.5}}]}),
            ("/v1/references", {"question": asked}),
            ("/v1/resolutions", {**verdict, "everything": True, "void_after_s": None, "reason": "why"}),
            (f"/v1/clocks/{draw.choice(('sim', 'real', 'a/b', f'c{number}'))}", {"now": NOW_NS + number * 10**9}),
        ]
        return draw.choice([*documents, documents[0], documents[1]])

    async def work() -> None:
        keyed = (b"content-type", b"application/json")
        callers = [[*bearer(ADMIN), keyed], [*bearer(await one.service.members.add("somebody")), keyed]]
        known = [question(f"{by}-{form}", form, by) for form in FORMS for by in ("manual", "recorded")]
        for path, first in (("/v1/clocks/sim", {"now": NOW_NS}), ("/v1/questions", {"questions": known})):
            await one.ask("POST", path, callers[0], json.dumps(first).encode(), path)
        for number in range(DOCUMENTS // 2):
            if number % 2:
                method, (path, document) = "POST", write(number)
                body = bent(document)
            else:
                method, body, path = draw.choice(("GET", "GET", "POST")), b"", draw.choice(READS)
                while "%s" in path:
                    path = path.replace("%s", quote(str(draw.choice(UNFIT)).encode("utf-8", "replace"))[:300], 1)
            await one.ask(method, path, callers[draw.random() < 0.3], body, (path[:200], body[:500]))
        await one.ask("POST", "/v1/clocks/sim", callers[0], json.dumps({"now": NOW_NS + 9 * HOUR_NS}).encode(), "later")
        await one.ask("POST", "/v1/resolutions", callers[0], b'{"everything": true}', "resolve")

    one = running(hidden("treasury-forecast"))
    drive(work)
    assert not one.failed, f"{len(one.failed)} requests made the verifier fail, among them {one.failed[:3]}"
    assert min(one.statuses[status] for status in (200, 201, 404, 409, 422)) > 0, one.statuses
    # Whatever was accepted is in the ledger as the log has it.
    assert verify_chain(one.state).entries > 0


def tables(kind: str, generator: np.random.Generator) -> bytes:
    """An Arrow or Parquet table: of the right form, or with columns of another type, number, name or length."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    types = [
        pa.float64(),
        pa.float32(),
        pa.int64(),
        pa.string(),
        pa.bool_(),
        pa.null(),
        pa.decimal128(5, 2),
        pa.list_(pa.float64()),
        pa.date32(),
    ]
    rows = int(generator.choice([0, 1, 4, 5]))
    columns = {}
    for name in ("a", "b", *(["c"] if generator.random() < 0.2 else [])):
        wanted = types[0] if generator.random() < 0.7 else types[generator.integers(len(types))]
        empty = generator.random() < 0.2
        try:
            columns[name] = pa.array([None] * rows if empty else generator.standard_normal(rows)).cast(wanted)
        except pa.ArrowException:
            columns[name] = pa.array([None] * rows, wanted)
    table = pa.table(columns)
    if generator.random() < 0.1:
        table = table.rename_columns(["a"] * table.num_columns)
    stream = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, stream, compression=["none", "snappy", "zstd", "gzip"][generator.integers(4)])
    else:
        with (pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file)(stream, table.schema) as writer:
            writer.write_table(table)
    return stream.getvalue()


@pytest.mark.parametrize("media", TABLES)
def test_tables(media: str) -> None:
    """In this process, many; in its own, where even a decoder that crashes is a refusal, see
    tests/verifier/submissions/test_submissions.py."""
    kind, generator, outcomes = TABLES[media], np.random.default_rng(4), Counter[str]()
    grammar = Grammar(5, (4, 2))
    for _ in range(DOCUMENTS // 20):
        try:
            decode(kind, grammar.bent(tables(kind, generator)), ["a", "b"], 4, ["window"])
            outcomes["read"] += 1
        except TableRefused as refusal:
            outcomes[refusal.problem] += 1
    assert outcomes["read"] > 0
    assert outcomes["malformed-submission"] > 0


EXTREMES: dict[str, Callable[[np.ndarray, float, float, np.random.Generator], np.ndarray]] = {
    "lowest": lambda base, low, high, draw: np.full_like(base, low),
    "highest": lambda base, low, high, draw: np.full_like(base, high),
    "both": lambda base, low, high, draw: np.where(draw.random(base.shape) < 0.5, low, high),
    "zero": lambda base, low, high, draw: np.full_like(base, np.clip(0.0, low, high)),
    "smallest": lambda base, low, high, draw: np.clip(np.full_like(base, 5e-324), low, high),
    "one cell": lambda base, low, high, draw: np.where(
        np.arange(base.size).reshape(base.shape) == base.size - 1, high, base
    ),
    "steps": lambda base, low, high, draw: np.where(np.arange(base.size).reshape(base.shape) % 2 == 0, low, high),
    "negative zero": lambda base, low, high, draw: np.where(np.full_like(base, low) <= 0.0, -0.0, base),
}
SCORED = (
    "treasury-forecast",
    "crypto-price-forecast",
    "yield-curve-forecast",
    "equity-excess-return-forecast",
    "ba2motifs-fraud",
    "exchange-generation",
)
"""Tasks of the kinds that take arrays, of which every other one is tried; every such task with ``OPENFINGYM_ALL``."""


def arrays() -> list[str]:
    from openfingym import catalog
    from openfingym.kinds import is_sequential

    if not ALL:
        return fixed_part(SCORED, 2)
    return [name for name in catalog.task_folders() if not is_sequential(load_task(name).spec.contract)]


@pytest.mark.parametrize("name", arrays())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # arithmetic at the ends of the admissible range
def test_valid_values_at_their_ends_have_a_score_or_are_refused(
    name: str, hidden: Callable[[str], HiddenTask], running: Callable[[HiddenTask], Running]
) -> None:
    task = hidden(name)
    base, high = task.grader.baseline, task.spec.contract.high
    draw = np.random.default_rng(6)

    async def work() -> None:
        for case, make in EXTREMES.items():
            rollout, token = await one.rollout()
            stream = io.BytesIO()
            np.save(stream, make(base.copy(), task.low, high, draw))
            await one.ask(
                "POST", "/v1/submissions", [*token, (b"content-type", b"application/x-npy")], stream.getvalue(), case
            )
            assert await one.end(rollout) in {"scored", "rejected"}, case

    one = running(task)
    drive(work)
    assert not one.failed
