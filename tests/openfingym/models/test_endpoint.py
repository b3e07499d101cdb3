"""Every way an endpoint fails, against one that really does."""

from __future__ import annotations

import asyncio
import logging
import pickle
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from openfingym.errors import ModelRefusedError, ModelUnavailableError, UsageError
from openfingym.models import Completion, Message, Tool, Usage
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.prices import PriceTable
from openfingym.models.testing import StandIn
from openfingym.models.wire import MAX_CONTENT

Ask = Callable[..., Completion]
HELLO = (Message("system", "Be brief."), Message("user", "inputs, targets = interface.load_train()"))
RUN = Tool("run_python", "Run a program.", {"type": "object", "properties": {"code": {"type": "string"}}})
KEY = "sk-a-key-that-must-not-be-seen"


@pytest.mark.parametrize("stream", [False, True])
def test_answers_alike_streamed_and_whole(ask: Ask, stream: bool) -> None:
    plain = ask("stand-in/competent")
    found = ask("stand-in/competent", stream=stream)
    assert (found.message, found.usage, found.finish_reason, found.attempts) == (plain.message, plain.usage, "stop", 1)
    assert "import interface" in found.message.content
    assert found.usage.prompt > 0
    assert found.latency_s > 0


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls(ask: Ask, stream: bool) -> None:
    found = ask("stand-in/competent", tools=[RUN], stream=stream)
    (call,) = found.message.tool_calls
    assert (found.finish_reason, call.name) == ("tool_calls", "run_python")
    assert "interface.contract" in str(call.parsed()["code"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["error-500", "error-503", "rate-limit", "cut", "garbage", "hang"])
def test_what_passes_is_asked_again(ask: Ask, fault: str, stream: bool) -> None:
    # Short enough only for what hangs: on a busy machine an answer may take longer than a fraction of a second.
    times = 2 if stream else 1  # a fault of a name and number is met so often by all tests together
    found = ask(f"stand-in/competent+{fault}:{times}", stream=stream, timeout_s=2.0 if fault == "hang" else 30.0)
    assert found.attempts == times + 1
    assert found.message == ask("stand-in/competent", stream=stream).message


@pytest.mark.parametrize(("fault", "least"), [("rate-limit-seconds", 1.0), ("rate-limit-date", 1.0)])
def test_waits_as_long_as_it_is_told(ask: Ask, fault: str, least: float) -> None:
    before = time.monotonic()
    assert ask(f"stand-in/competent+{fault}:1").attempts == 2
    assert least <= time.monotonic() - before < 30.0


def test_an_endpoint_that_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    late = StandIn(port=port)

    def start_once_missed() -> None:
        until = time.monotonic() + 60
        while "attempt 1 failed" not in caplog.text and time.monotonic() < until:
            time.sleep(0.01)
        late.__enter__()

    starter = threading.Thread(target=start_once_missed)

    async def once() -> Completion:
        async with ModelEndpoint(late.base_url, KEY, patience_s=60.0, loopback=True) as endpoint:
            return await endpoint.model("stand-in/competent").complete(HELLO)

    with caplog.at_level(logging.INFO, "openfingym"):
        starter.start()
        try:
            assert asyncio.run(once()).attempts >= 2
        finally:
            starter.join()
            late.__exit__()
    assert "attempt 1 failed" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize("fault", ["error-503", "hang"])
def test_patience_ends(ask: Ask, fault: str) -> None:
    before = time.monotonic()
    with pytest.raises(ModelUnavailableError, match=r"no answer to \d+ request\(s\).*patience 1.2 s"):
        ask(f"stand-in/competent+{fault}", patience_s=1.2, timeout_s=0.5)
    assert time.monotonic() - before < 30.0


def test_a_queue_before_an_endpoint_that_is_down() -> None:
    """All give up when the first does; each with a patience of its own, they would take twenty times as long."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"

    async def many() -> list[Completion | BaseException]:
        async with ModelEndpoint(url, "none", concurrency=1, patience_s=1.0, loopback=True) as endpoint:
            model = endpoint.model("stand-in/competent")
            return await asyncio.gather(*(model.complete(HELLO) for _ in range(20)), return_exceptions=True)

    before = time.monotonic()
    found = asyncio.run(many())
    assert time.monotonic() - before < 15.0
    assert all(isinstance(error, ModelUnavailableError) for error in found)


def test_an_outage_that_is_over_is_forgotten(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    # Within so short a patience there is time for the second attempt, however long the first takes by chance.
    monkeypatch.setattr("openfingym.models.retrying.LONGEST_WAIT_S", 0.1)

    async def asking() -> Completion:
        async with ModelEndpoint(stand_in.base_url, "none", patience_s=0.8, loopback=True) as endpoint:
            with pytest.raises(ModelUnavailableError):
                await endpoint.model("stand-in/careless+rate-limit").complete(HELLO)
            await asyncio.sleep(0.8)
            return await endpoint.model("stand-in/careless+error-500:1").complete(HELLO)

    assert asyncio.run(asking()).attempts == 2


def test_a_wait_beyond_patience_is_not_begun(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.INFO, "openfingym"),
        pytest.raises(ModelUnavailableError, match="no answer to 1 request"),
    ):
        ask("stand-in/competent+rate-limit-seconds", patience_s=0.9)
    assert "attempt 1 failed" not in caplog.text, "which is said before a wait"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("bad-request", "bad-request"), ("context-too-long", "context-too-long"), ("content-filter", "content-filter")],
)
def test_what_is_refused_is_asked_once(ask: Ask, stand_in: StandIn, fault: str, reason: str) -> None:
    model = f"stand-in/competent+{fault}"
    with pytest.raises(ModelRefusedError) as caught:
        ask(model)
    assert caught.value.reason == reason
    assert stand_in.served[model] == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.reason, str(again)) == (reason, str(caught.value))


@pytest.mark.parametrize(
    ("fault", "words"),
    [("unauthorized", "does not let us in"), ("not-found", "does not know"), ("no-credit", "no credit")],
)
def test_what_patience_does_not_help(ask: Ask, stand_in: StandIn, fault: str, words: str) -> None:
    model = f"stand-in/competent+{fault}"
    with pytest.raises(ModelUnavailableError, match=words):
        ask(model)
    assert stand_in.served[model] == 1


def test_the_key_is_seen_by_the_endpoint_alone(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    # This fault says the key back, as some endpoints do.
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelUnavailableError) as caught:
        ask("stand-in/competent+unauthorized", key=KEY)
    assert "provided: ***" in str(caught.value)
    assert KEY not in caplog.text


def test_an_answer_without_end_is_cut(ask: Ask) -> None:
    found = ask("stand-in/broken-endless", stream=True)
    assert found.finish_reason == "length"
    assert len(found.message.content) == MAX_CONTENT
    # Nobody counted these tokens, and yet they count.
    assert not found.counted
    assert found.usage.completion == MAX_CONTENT // 4


@pytest.mark.parametrize("stream", [False, True])
def test_max_tokens(ask: Ask, stream: bool) -> None:
    found = ask("stand-in/broken-endless", stream=stream, max_tokens=7)
    assert (found.finish_reason, found.usage.completion) == ("length", 7)


@pytest.mark.parametrize("fault", ["renamed", "seedless", "no-system", "no-late-system"])
def test_what_a_model_does_not_take_is_left_out(fault: str, stand_in: StandIn) -> None:
    said = (*HELLO, Message("system", "Be quick.")) if fault == "no-late-system" else HELLO

    async def asking() -> list[Completion]:
        async with ModelEndpoint(stand_in.base_url, "none", loopback=True) as endpoint:
            model = endpoint.model(f"stand-in/broken-endless+{fault}")
            # Several may find out at the same time.
            first = await asyncio.gather(*(model.complete(said, max_tokens=5, seed=1) for _ in range(4)))
            return [*first, await model.complete(said, max_tokens=5, seed=1)]

    *first, last = asyncio.run(asking())
    assert {found.attempts for found in first} == {2}
    assert last.attempts == 1
    assert {found.usage.completion for found in (*first, last)} == {5}


@pytest.mark.parametrize(
    ("sort", "reason", "calls"),
    [
        ("empty", "stop", 0),
        ("refusal", "refusal", 0),
        ("invalid-json", "tool_calls", 1),
        ("unknown-tool", "tool_calls", 1),
    ],
)
def test_rubbish_is_an_answer(ask: Ask, sort: str, reason: str, calls: int) -> None:
    found = ask(f"stand-in/broken-{sort}", tools=[RUN])
    assert (found.finish_reason, len(found.message.tool_calls)) == (reason, calls)
    if sort == "invalid-json":
        with pytest.raises(ValueError, match="not valid JSON"):
            found.message.tool_calls[0].parsed()


def test_cost(ask: Ask, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[mine]\ninput = 3.0\noutput = 15.0\n")
    found = ask("mine", request_name="stand-in/competent", prices=PriceTable.load(prices))
    assert found.cost_usd == pytest.approx((3.0 * found.usage.prompt + 15.0 * found.usage.completion) / 1e6)
    assert ask("nobody-knows-this", request_name="stand-in/competent").cost_usd is None
    assert ask("stand-in/competent").cost_usd == 0.0
    # An estimate of the tokens is no cost.
    uncounted = ask("mine", request_name="stand-in/broken-endless", prices=PriceTable.load(prices), stream=True)
    assert (uncounted.counted, uncounted.cost_usd) == (False, None)


def test_tokens(ask: Ask) -> None:
    found = ask("stand-in/competent", tokens=True)
    assert found.tokens is not None
    assert len(found.tokens.completion_ids) == len(found.tokens.logprobs) == found.usage.completion
    assert all(value < 0 for value in found.tokens.logprobs)
    assert found.tokens.prompt_ids
    assert ask("stand-in/competent").tokens is None


def test_bounded_concurrency() -> None:
    with StandIn(latency_s=0.05) as slow:

        async def many() -> list[Completion]:
            async with ModelEndpoint(slow.base_url, "none", concurrency=3, loopback=True) as endpoint:
                model = endpoint.model("stand-in/competent")
                return await asyncio.gather(*(model.complete(HELLO) for _ in range(12)))

        found = asyncio.run(many())
        assert len(found) == 12
        assert slow.most_at_once == 3


def test_cancelling_frees_the_slot(stand_in: StandIn) -> None:
    async def cancelled() -> Completion:
        async with ModelEndpoint(stand_in.base_url, "none", concurrency=1, loopback=True) as endpoint:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await endpoint.model("stand-in/competent+hang").complete(HELLO)
            return await endpoint.model("stand-in/competent").complete(HELLO)

    assert asyncio.run(cancelled()).finish_reason == "stop"


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"timeout_s": 0.0}, {"patience_s": -1.0}])
def test_wrong_limits(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="concurrency"):
        ModelEndpoint("http://127.0.0.1:1/v1", "none", **wrong)  # type: ignore[arg-type]


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert Usage(3, 4).total == 7


@pytest.mark.parametrize("kind", ["application/json", "text/html", "text/event-stream"])
@pytest.mark.parametrize(
    ("page", "said"),
    [
        (f"\n<html>Welcome, {KEY}, {'to a web server ' * 20}</html>", "it begins with '<html>Welcome, ***, to a web"),
        ("[" * 200_000, "it is nested too deep"),
    ],
)
def test_what_is_no_answer_at_all_is_quoted_without_the_key(kind: str, page: str, said: str) -> None:
    streamed = kind == "text/event-stream"
    content = (f"data: {page.strip()}\n\n" if streamed else page).encode()

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    async def once(url: str) -> None:
        async with ModelEndpoint(url, KEY, patience_s=2.0, loopback=True) as endpoint:
            await endpoint.model("m", stream=streamed).complete(HELLO)

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(ModelUnavailableError) as caught:
            asyncio.run(once(f"http://127.0.0.1:{server.server_port}/v1"))
        server.shutdown()
    assert said in str(caught.value)
    assert KEY[:5] not in str(caught.value)
    assert len(str(caught.value)) < 300
