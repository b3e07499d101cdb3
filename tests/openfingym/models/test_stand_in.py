"""The stand-in: a server that speaks the protocol, and policies that do what they are named for."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from openfingym.agents import Agent
from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.models import Message, Tool, ToolCall
from openfingym.models.testing import BLOCKS_MARKER, POLICIES, CompletionRequest, StandIn, find_policy, known_models
from openfingym.models.testing.__main__ import main as serve
from openfingym.models.testing.answers import answer
from openfingym.models.testing.brief import WAYS, InstructionFacts
from openfingym.models.text_tools import as_text
from openfingym.models.wire import request_body
from openfingym.packages.build import build
from openfingym.results import RolloutResult
from openfingym.rollouts.launcher import Launcher
from openfingym.task import Task
from tests.sweeps import fixed_part

TASKS = {
    "forecast": "treasury-forecast",
    "curves": "yield-curve-forecast",
    "rows": "equity-excess-return-forecast",
    "generation": "exchange-generation",
    "nodes": "amazon-fraud",
    "graphs": "ba2motifs-fraud",
    "rolling": "equity-rolling-forecast",
    "trading": "equity-trading",
    "questions": "polymarket-forecast",
}
STRING = {"type": "string"}
TOOLS = tuple(
    Tool(
        name,
        f"The tool {name}.",
        {"type": "object", "properties": dict.fromkeys(arguments, STRING if name != "step" else {})},
    )
    for name, arguments in {
        "run_python": ("code",),
        "read_file": ("path",),
        "write_file": ("path", "content"),
        "submit": ("path",),
        "step": ("action",),
    }.items()
)
SYSTEM = {
    "tools": "Use the tools.",
    "text": "Use the tools.",
    "blocks": f"Write {BLOCKS_MARKER}.",
    "single": "Write a program.",
}


def _program(reply: str) -> str:
    opened, _, rest = reply.partition("```python\n")
    program, closed, _ = rest.partition("```")
    assert opened is not None
    assert closed, f"no code block in {reply[:80]!r}"
    return program


@pytest.fixture(scope="module")
def launcher(store_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    tasks = [
        _shortened(kind, tmp_path_factory.mktemp("tasks")) if kind in {"rolling", "trading"} else load_task(TASKS[kind])
        for kind in TASKS
    ]
    with Launcher.for_tasks(tasks, backend="sandbox") as running:
        yield running


def _shortened(kind: str, where: Path) -> Task:
    """A sequential task with fewer episodes, to be quick."""
    folder = where / TASKS[kind]
    shutil.copytree(load_task(TASKS[kind]).folder, folder)
    path = folder / "task.toml"
    text, changed = re.subn(
        r"(?:train = \S+\npublic = \S+\nprivate = \S+|public_from = \S+\nprivate_from = \S+)",
        "train = 0.8\npublic = 0.1\nprivate = 0.1",
        path.read_text(encoding="utf-8"),
    )
    assert changed == 1
    path.write_text(text, encoding="utf-8")
    return load_task(folder)


def _run(launcher: Launcher, kind: str, program: str, *, out: Path | None = None) -> RolloutResult:
    package = next(package for package in launcher.packages if package.manifest.name == TASKS[kind])
    return launcher.run(package, Agent("script", "program", program), out=out)


def _respond(policy: str, messages: list[Message], form: str = "single", tools: tuple[Tool, ...] = TOOLS) -> Message:
    """What a policy answers, over the wire's forms but without a server."""
    offered = tools if form in {"tools", "text"} else ()
    said = as_text(messages, offered) if form == "text" else messages
    request = CompletionRequest.read(request_body("m", said, tools=offered if form == "tools" else ()))
    assert request.form == form
    reply = find_policy(f"stand-in/{policy}")[0].respond(request)
    calls = tuple(
        ToolCall(f"c{request.turn}_{number}", call.name, call.text) for number, call in enumerate(reply.calls)
    )
    return Message("assistant", reply.content, calls)


def _converse(policy: str, brief: str, form: str, tools: tuple[Tool, ...] = TOOLS, *, turns: int = 20) -> list[Message]:
    """A conversation in which every call is answered, the second in a row of submissions and so on with success."""
    messages = [Message("system", SYSTEM[form]), Message("user", brief)]
    for _ in range(turns):
        said = _respond(policy, messages, form, tools)
        messages.append(said)
        if form in {"tools", "text"}:
            if not said.tool_calls:
                return messages
            messages += [Message("tool", "done", tool_call_id=call.id) for call in said.tool_calls]
        elif "```python" not in said.content:
            return messages
        else:
            messages.append(Message("user", "Output:\ndone"))
    return messages


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", fixed_part(TASKS, 3))
def test_the_competent_one_solves_every_kind_of_task(kind: str, launcher: Launcher) -> None:
    instruction = build(load_task(TASKS[kind])).instruction.read_text(encoding="utf-8")
    said = _respond("competent", [Message("system", SYSTEM["single"]), Message("user", instruction)])
    result = _run(launcher, kind, _program(said.content))
    assert (result.state, result.reason) == ("scored", None)
    assert result.relative_total is not None
    # No worse than the baseline; to trade well is another matter.
    assert result.relative_total < (1.5 if kind == "trading" else 1.01)


def test_every_kind_is_told_by_its_brief() -> None:
    assert set(WAYS) == set(TASKS)
    for kind, name in TASKS.items():
        task = load_task(name)
        brief = InstructionFacts.read(build(task).instruction.read_text(encoding="utf-8"))
        assert brief is not None
        assert (brief.kind, task.spec.contract.kind) == (kind, kind)
    assert InstructionFacts.read("Write a poem.") is None


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", ["forecast", "generation"])
@pytest.mark.parametrize("form", ["tools", "blocks"])
def test_what_is_run_on_the_way_runs(form: str, kind: str, launcher: Launcher) -> None:
    """Look, save and submit, or practise and walk, one after the other as a tool would run them."""
    brief = build(load_task(TASKS[kind])).instruction.read_text(encoding="utf-8")
    messages = _converse("competent", brief, form)
    if form == "tools":
        calls = [call for message in messages for call in message.tool_calls]
        last = "submit" if kind == "generation" else "run_python"
        assert [call.name for call in calls] == ["run_python", "run_python", last]
        look, first, then = (call.parsed() for call in calls)
        end = then.get("code", f"print(interface.submit(np.load({then.get('path')!r})))\n")
        program = f"{look['code']}{first['code']}{end}"
    else:
        blocks = [
            _program(message.content)
            for message in messages
            if message.role == "assistant" and "```" in message.content
        ]
        assert len(blocks) == 2
        program = "".join(blocks)
    assert _run(launcher, kind, program).state == "scored"


@pytest.mark.sandbox
def test_the_careless_one_mends_its_mistake(launcher: Launcher) -> None:
    brief = build(load_task("treasury-forecast")).instruction.read_text(encoding="utf-8")
    said = [message.content for message in _converse("careless", brief, "blocks") if message.role == "assistant"]
    hasty, mended = (_run(launcher, "forecast", _program(reply)) for reply in said[:2])
    assert hasty.state == "rejected"
    assert "shape" in str(hasty.reason)
    assert mended.state == "scored"
    for kind, wanted in (("forecast", ["run_python"] * 3), ("generation", ["run_python", "submit"] * 2)):
        brief = build(load_task(TASKS[kind])).instruction.read_text(encoding="utf-8")
        calls = [call.name for message in _converse("careless", brief, "tools") for call in message.tool_calls]
        assert calls == wanted


@pytest.mark.sandbox
def test_the_hostile_one_gets_nothing(launcher: Launcher, tmp_path: Path) -> None:
    brief = build(load_task("treasury-forecast")).instruction.read_text(encoding="utf-8")
    program = _program(_respond("hostile", [Message("system", ""), Message("user", brief)]).content)
    result = _run(launcher, "forecast", program, out=tmp_path)
    assert result.path is not None
    output = (result.path / "output.log").read_text(encoding="utf-8")
    assert "LEAK" not in output
    assert "refused" in output, "the attack did not even begin"
    assert "stopped: SubmissionRefused" in output
    # The walk that counts; those for practice do not.
    assert result.submissions_accepted == 1


@pytest.mark.parametrize("form", ["tools", "text"])
def test_sequential_tasks_are_stepped_through(form: str) -> None:
    for kind, key in (("trading", "weights"), ("rolling", "predictions")):
        brief = build(load_task(TASKS[kind])).instruction.read_text(encoding="utf-8")
        for policy in ("competent", "careless"):
            calls = [call for message in _converse(policy, brief, form, turns=6) for call in message.tool_calls]
            assert [call.name for call in calls] == ["step"] * 6
            actions = [call.parsed()["action"] for call in calls]
            first = next(action for action in actions if isinstance(action, dict))
            assert len(first[key]) == 3
            assert sum(first[key]) <= 1.0
            assert isinstance(actions[0], list) == (policy == "careless")
        without = tuple(tool for tool in TOOLS if tool.name != "step")
        waiting = Tool("step", "Step.", {"type": "object", "properties": {"action": {}, "wait": {"type": "integer"}}})
        (call,) = _respond(
            "competent", [Message("system", SYSTEM[form]), Message("user", brief)], form, (*without, waiting)
        ).tool_calls
        assert ("wait" in call.parsed()) == (kind == "trading")
        calls = [call for message in _converse("competent", brief, form, without) for call in message.tool_calls]
        assert "interface.make(" in str(calls[-1].parsed()["code"])


@pytest.mark.parametrize("form", ["tools", "text"])
def test_a_brief_that_must_be_read_first(form: str) -> None:
    messages = [Message("system", SYSTEM[form]), Message("user", "Solve the task.")]
    said = _respond("competent", messages, form)
    (call,) = said.tool_calls
    assert (call.name, call.parsed()) == ("read_file", {"path": "/task/instruction.md"})
    messages += [said, Message("tool", "inputs, targets = interface.load_train()", tool_call_id=call.id)]
    assert _respond("competent", messages, form).tool_calls[0].name == "run_python"


@pytest.mark.parametrize("model", known_models())
@pytest.mark.parametrize("form", ["tools", "text", "blocks", "single"])
def test_every_policy_answers_in_every_form(model: str, form: str) -> None:
    """Also without a brief, and the same again for the same request."""
    for brief in ("", "inputs, targets = interface.load_train()"):
        messages = [Message("system", SYSTEM[form]), Message("user", brief)]
        said = as_text(messages, TOOLS) if form == "text" else messages
        body = request_body("m", said, tools=TOOLS if form == "tools" else (), seed=3, max_tokens=50)
        one, other = (
            answer(body, request, find_policy(model)[0].respond(request))
            for request in [CompletionRequest.read(body)] * 2
        )
        assert one == other
        json.dumps(one.whole())


@pytest.mark.parametrize("form", ["tools", "text", "blocks", "single"])
@pytest.mark.parametrize("text", ["–27 basis points", "+0.5", "a:b", "competent+error-503", "Final answer:\n- 62.57"])
def test_one_can_answer_a_fixed_text(text: str, form: str) -> None:
    said = _respond(f"fixed:{text}", [Message("system", SYSTEM[form]), Message("user", "How much?")], form)
    assert (said.content, said.tool_calls) == (text, ())


@pytest.mark.parametrize("name", ["stand-in/fixed:", "stand-in/fixed: ", "stand-in/fixed", "stand-in/fixes:5"])
def test_a_fixed_answer_has_a_text(name: str) -> None:
    with pytest.raises(UsageError, match=r"stand-in/fixed:TEXT"):
        find_policy(name)


def test_the_broken_one_has_many_ways() -> None:
    messages = [Message("user", "inputs, targets = interface.load_train()")]
    bodies = [request_body("m", messages, seed=seed) for seed in range(20)]
    replies = {repr(POLICIES["broken"]().respond(CompletionRequest.read(body))) for body in bodies}
    assert len(replies) > 6


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with StandIn() as running:
        yield running.base_url


def test_the_official_client_is_content(url: str) -> None:
    client = openai.OpenAI(base_url=url, api_key="none", http_client=openai.DefaultHttpxClient(trust_env=False))
    names = [model.id for model in client.models.list()]
    assert names == list(known_models())
    body = request_body(
        "stand-in/competent", [Message("user", "inputs, targets = interface.load_train()")], tools=TOOLS
    )
    whole = client.chat.completions.create(**body)
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    with client.chat.completions.stream(**body) as stream:
        streamed = stream.get_final_completion()
    (call,), (again,) = whole.choices[0].message.tool_calls, streamed.choices[0].message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) != (again.id, None, None)
    assert (call.function.name, call.function.arguments) == (again.function.name, again.function.arguments)
    client.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"model": "stand-in/competent"}', b'{"model": "gpt-4o", "messages": [{"role": "user"}]}'],
)
def test_a_wrong_request_is_the_clients_fault(url: str, body: bytes) -> None:
    response = httpx.post(f"{url}/chat/completions", content=body, trust_env=False)
    assert response.status_code == 400
    assert response.json()["error"]["message"]


def test_a_fault_for_one_request(url: str) -> None:
    body = request_body("stand-in/competent", [Message("user", "hello")])
    for fault, status in (("error-503", 503), ("rate-limit-seconds", 429), ("", 200)):
        headers = {"x-stand-in-fault": fault} if fault else {}
        response = httpx.post(f"{url}/chat/completions", json=body, headers=headers, trust_env=False)
        assert response.status_code == status
        assert ("retry-after" in response.headers) == (status == 429)


def test_a_server_of_its_own() -> None:
    process = subprocess.Popen([sys.executable, "-m", "openfingym.models.testing"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert httpx.get(f"{url}/models", trust_env=False).status_code == 200
    finally:
        process.terminate()
        process.communicate()


def test_a_server_of_its_own_says_how_it_is_started_and_why_it_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, why in (("--port", "No such option"), ("web", "'web' is not a valid integer"), ("70000", "0<=x<=65535")):
        with pytest.raises(SystemExit) as ended:
            serve([wrong])
        assert ended.value.code == 2
        assert why in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as ended:
        serve([str(taken.getsockname()[1])])
    assert ended.value.code == 1
    assert re.search(r"port \d+ cannot be taken \(.*in use.*\); give another, or none", capsys.readouterr().err)
