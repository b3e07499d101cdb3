"""Command lines of the user's inside the container: what they are answered, what they cost, and what they cannot do.

Attacks: through the model, an image at an address, a search, a stored answer, a file, a schema that points elsewhere,
another model or route, to have an endpoint fetch, keep or search; and a request at which an endpoint fails, or one that
is made just before the time is over, for an `error` and so another try.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from openfingym.agents import Agent, resolve, with_sampling
from openfingym.agents.llm import Cli
from openfingym.errors import UsageError
from openfingym.models import Allowance, ModelSpec
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.spec import agent_digest
from tests.openfingym.models.scripted import Json, Script, Scripted, completion, in_turn, refusal

from .conftest import Left, Play, player

KEY = "sk-a-real-key-of-the-user"
MAIN = '''#!/no/such/python3.9
"""A command line: it runs the program that is its argument."""
import http.client, json, os, subprocess, sys

MODEL = os.environ["OPENFINGYM_MODEL"]

def request(method, path, body=None, **headers):
    """Status and document of an answer."""
    host = os.environ["OPENAI_BASE_URL"].split("/")[2]
    connection = http.client.HTTPConnection(host, timeout=100)
    connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body),
                       {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    content = answer.read()
    try:
        return answer.status, json.loads(content)
    except ValueError:
        return answer.status, content.decode()

def ask(text, **more):
    return request("POST", "/v1/chat/completions",
                   {"model": MODEL, "messages": [{"role": "user", "content": text}], **more})

def walk():
    import interface, numpy
    def again(inputs): return numpy.repeat(inputs[:, -1:], interface.HORIZON, axis=1)
    feedback = interface.predict_each(again, practice=True)
    interface.predict_each(again)
    return feedback

exec(sys.argv[1])
'''
HELLO: Script = in_turn([{"role": "assistant", "content": "Hello."}])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "brought"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "main").write_text(MAIN)
    (folder / "bin" / "main").chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


Run = Callable[..., tuple[Left, Scripted]]


@pytest.fixture
def run(play: Play, folder: Path) -> Run:
    """``run(program, script, **options)``: one rollout in the sandbox, and the endpoint that it asked."""

    def run(program: str, script: Script = HELLO, *, play: Play = play, **options: Any) -> tuple[Left, Scripted]:
        agent = resolve("cli", command=["main", program], mount=folder)
        with Scripted(script) as endpoint:
            return play(agent, ModelSpec.parse("my/model", base_url=endpoint.base_url), **options), endpoint

    return run


PLAYS = """
prompt = sys.stdin.read()
assert "Treasury" in prompt and "import interface" in prompt, prompt
assert prompt == open("/work/.prompt.md").read()
tool = {"name": "sh", "description": "Run it.", "input_schema": {"type": "object"}}
messages = [{"role": "user", "content": prompt}]
body = {"model": MODEL, "max_tokens": 50, "system": "You are one.", "messages": messages, "tools": [tool],
        "metadata": {"user_id": "someone"}, "temperature": 0.25}
status, answer = request("POST", "/v1/messages?beta=true", body, **{"x-api-key": "k", "anthropic-beta": "files"})
(text, call) = answer["content"]
assert (status, answer["stop_reason"], call["input"]) == (200, "tool_use", {"command": "id"}), answer
messages += [{"role": "assistant", "content": answer["content"]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "nobody"}]}]
print(walk(), subprocess.run(["/bin/sh", "-c", "pwd; echo $HOME"], capture_output=True, text=True).stdout)
status, answer = request("POST", "/v1/messages", body)
assert answer["content"] == [{"type": "text", "text": "Done."}], answer
status, text = ask("Bye", stream=True, seed=99)
assert text.endswith("data: [DONE]\\n\\n"), text
"""
CALL = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": '{"command": "id"}'}}
ANSWERS: Sequence[Json] = (
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL], "reasoning_content": "Hm."},
    {"role": "assistant", "content": "Done."},
)


def played(left: Left, endpoint: Scripted, backend: str) -> None:
    result, record = left.result, left.record
    assert result.state == "scored", (result.reason, (left.folder / "output.log").read_text())
    assert (result.backend, result.isolation, result.model) == (backend, "model inside", "my/model")
    assert (result.turns, result.prompt_tokens, result.completion_tokens) == (3, 30, 15)
    assert result.relative_total == pytest.approx(1.0)
    assert "submission 1: public loss" in (left.folder / "output.log").read_text()
    assert "/work\n/work/.home" in (left.folder / "output.log").read_text()
    assert [(turn.role, turn.content[:9]) for turn in record.messages[-6:]] == [
        ("system", "You are o"), ("user", record.messages[-5].content[:9]), ("assistant", "I look."),
        ("assistant", "Done."), ("user", "Bye"), ("assistant", "Done."),
    ]  # fmt: skip
    (use,) = record.messages[2].tool_calls
    assert (use.name, use.result) == ("sh", "nobody")
    assert record.messages[2].reasoning == "Hm."
    assert [tool.name for tool in record.tools] == ["sh"]
    assert left.config["model"] == "my/model"
    described = left.config["command_line"]
    assert isinstance(described, dict)
    assert (described["command"][0], described["variables"], len(described["folder_sha256"])) == ("main", [], 64)
    # What went out was made anew: the rollout's seed, no more than was allowed, and nothing else.
    first, second, third = endpoint.bodies
    assert first.keys() == {"model", "messages", "tools", "max_tokens", "seed", "temperature"}
    assert (first["max_tokens"], first["temperature"], first["seed"]) == (50, 0.25, 3)
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert (third["seed"], third["max_tokens"]) == (3, 16_384)
    assert set(endpoint.keys) == {KEY}


@pytest.mark.sandbox
def test_it_plays_in_the_sandbox(run: Run) -> None:
    played(*run(PLAYS, in_turn(ANSWERS), seed=3), "sandbox")


@pytest.mark.docker
def test_it_plays_in_docker(run: Run, contained: Launcher, tmp_path: Path) -> None:
    played(*run(PLAYS, in_turn(ANSWERS), seed=3, play=player(contained, tmp_path / "runs")), "docker")


ATTACKS = """
import glob
def refused(status, found, *expected):
    assert status in expected, (status, found)
image = [{"type": "image_url", "image_url": {"url": "https://evil.example/x.png"}}]
chat, said = "/v1/chat/completions", [{"role": "user", "content": "x"}]
refused(*request("POST", chat, {"model": MODEL, "messages": [{"role": "user", "content": image}]}), 400)
refused(*ask("x", tools=[{"type": "web_search"}]), 400)
refused(*ask("x", store=True), 400)
refused(*ask("x", previous_response_id="r"), 400)
refused(*ask("x", n=3), 400)
refused(*request("POST", chat, {"model": "another", "messages": said}), 404)
refused(*request("POST", "/v1/messages", {"model": "claude-haiku", "messages": said}), 404)
for path in ("responses", "files", "embeddings", "assistants", "rollouts/x/finalize", "messages/batches"):
    path = "/v1/" + path
    refused(*request("POST", path, {}), 404)
refused(*request("GET", "/v1/files"), 404)
refused(*request("POST", "/v1/chat/completions", b"x" * (9 << 20)), 413)
refused(*request("POST", "/v1/chat/completions", b"{"), 400)
status, models = request("GET", "/v1/models")
assert [model["id"] for model in models["data"]] == [MODEL], models
status, found = request("GET", "/v1/task")
assert status == 200, found
refused(*ask("fine", user="SMUGGLED", metadata={"x": "SMUGGLED"}, tools=[{"type": "function", "function": {"name": "x",
        "parameters": {"$schema": "https://SMUGGLED"}}}]), 200)
seen = "".join(f"{name}={value} " for name, value in os.environ.items())
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        seen += open(path).read()
    except OSError:
        pass
print("SEEN", seen)
print(walk())
"""


@pytest.mark.sandbox
def test_its_model_is_no_way_to_anything_else(run: Run) -> None:
    left, endpoint = run(ATTACKS)
    log = (left.folder / "output.log").read_text()
    assert (left.result.state, left.result.turns) == ("scored", 1), (left.result.reason, log)
    (body,) = endpoint.bodies
    assert endpoint.refused == []
    assert "SMUGGLED" not in json.dumps(body)
    assert "evil.example" not in json.dumps(body)
    assert "[model request left out: metadata, user]" in log
    assert "[model request refused: store" in log
    # Neither the key, nor the rollout's token, nor anything of this machine's environment is ever inside.
    seen = log.partition("SEEN ")[2]
    assert "OPENFINGYM_MODEL=my/model" in seen
    assert KEY not in log
    assert KEY not in (left.folder / "trajectory.json").read_text() + json.dumps(left.config)
    assert "PYTEST_CURRENT_TEST" not in seen


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("limits", "text", "how"),
    [({"turns": 2}, "x", "turns"), ({"tokens": 25}, "x", "tokens"), ({"tokens": 500}, "x" * 3000, "tokens")],
)
def test_limits_hold_and_what_was_answered_counts(run: Run, limits: dict[str, int], text: str, how: str) -> None:
    program = (
        f"print(walk()); text = {text!r}\nfor _ in range(5):\n  status, found = ask(text)\n"
        "  print(status, found.get('error'))\n  if status != 200: break\nprint(ask(text)[0])"
    )
    left, endpoint = run(program, allowance=Allowance(**limits))
    log = (left.folder / "output.log").read_text()
    assert (left.result.state, left.result.ended_by) == ("scored", how), (left.result.reason, log)
    assert len(endpoint.bodies) == left.result.turns == (0 if len(text) > 1 else 2)
    # It was told, and had the time to end by itself.
    assert f"limit-{how}" in log
    assert log.rstrip().endswith("402")


@pytest.mark.sandbox
def test_requests_that_are_refused_are_not_without_end(run: Run) -> None:
    left, _ = run("codes = [request('POST', '/v1/messages', b'{')[0] for _ in range(150)]\nprint(sorted(set(codes)))")
    assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "protocol", "bad-calls")
    assert "100 requests to its model were refused" in str(left.result.reason)


@pytest.mark.sandbox
def test_a_limit_ends_what_does_not_end_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym.agents.llm.model_route.GRACE_S", 0.5)
    left, _ = run("import time\nwhile True: ask('x'); time.sleep(0.1)", allowance=Allowance(turns=1))
    assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "agent", "turns")
    assert "1 turns were used up" in str(left.result.reason)


def _chokes_on(word: str, status: int) -> Script:
    """An endpoint that fails at requests with this word, and answers all others."""

    def script(body: Json, number: int) -> Json | tuple[int, Json]:
        if word in json.dumps(body):
            return status, {"error": {"message": "No.", "type": "x"}}
        return HELLO(body, number)  # type: ignore[return-value]

    return script


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("script", "state", "boundary"),
    [
        # An endpoint that is down, and one that refuses whatever it is asked.
        (lambda _body, _number: (503, {"error": {"message": "down"}}), "error", "model"),
        (lambda _body, _number: refusal("max_new_tokens is too large"), "error", "model"),
        (lambda _body, _number: (401, {"error": {"message": "who are you"}}), "error", "model"),
        # One that works, but for what this program asks of it: else a program could end a rollout without a score.
        (_chokes_on("poison", 400), "rejected", "agent"),
        (_chokes_on("poison", 500), "rejected", "agent"),
    ],
)
def test_whose_failure_it_is(run: Run, script: Script, state: str, boundary: str) -> None:
    left, _ = run("print(ask('poison')); sys.exit(1)", script)
    assert (left.result.state, left.result.boundary) == (state, boundary), left.result.reason


@pytest.mark.sandbox
def test_what_the_endpoint_refuses_is_told(run: Run) -> None:
    def script(body: Json, number: int) -> Json | tuple[int, Json]:
        said = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
        return refusal(said) if "long" in json.dumps(body) else HELLO(body, number)  # type: ignore[return-value]

    program = "status, found = ask('long')\nassert status == 400\nprint(found['error']['code'], ask('x')[0], walk())"
    left, _ = run(program, script)
    assert left.result.state == "scored", left.result.reason
    assert "context_length_exceeded 200" in (left.folder / "output.log").read_text()


@pytest.mark.sandbox
def test_asking_late_is_no_outage(run: Run) -> None:
    released = threading.Event()

    def slow(body: Json, number: int) -> Json:
        released.wait(60)
        return completion({"role": "assistant", "content": "Hello."})

    left, _ = run("import time; time.sleep(2.4); ask('x')", slow, allowance=Allowance(wall_s=4.0))
    released.set()
    assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "agent", "wall")


@pytest.mark.sandbox
def test_many_at_once_are_asked_one_after_the_other(run: Run) -> None:
    at_once, most = [0], [0]

    def script(body: Json, number: int) -> Json:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        time.sleep(0.1)
        at_once[0] -= 1
        return completion({"role": "assistant", "content": "Hello."})

    program = (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(12) as pool:\n"
        "  found = [status for status, _ in pool.map(ask, ['x'] * 12)]\nprint(sorted(found)); walk()"
    )
    left, endpoint = run(program, script)
    log = (left.folder / "output.log").read_text()
    assert left.result.state == "scored", (left.result.reason, log)
    assert most == [1]
    answered = log.count("200")
    assert len(endpoint.bodies) == left.result.turns == answered >= 8
    assert log.count("429") == 12 - answered


@pytest.mark.sandbox
def test_other_programs_go_on_with_an_episode(run: Run) -> None:
    program = """
run = lambda text: subprocess.run([sys.executable, "-c", "import interface; env = interface.make();" + text],
                                  capture_output=True, text=True)
assert run("env.resume()").returncode == 1
assert run("env.reset(); env.step(None)").returncode == 0
done = run("print(env.resume()); print(env.step(None)[4]['step'])")
assert done.stdout == "(1, 1)\\n2\\n", done
assert "env.resume()" in sys.stdin.read()
print("went on")
"""
    left, _ = run(program, kind="trading")
    assert "went on" in (left.folder / "output.log").read_text(), left.result.reason
    assert left.result.state == "scored"


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("program", "how", "reason"),
    [
        ("print('\\x1b[31mno'); sys.exit(3)", "failed", "ended with status 3: [31mno"),
        ("os.kill(os.getpid(), 9)", "failed", "ended with status 137"),
        ("kept = [b'x' * (1 << 28) for _ in range(64)]", "*", ""),
        ("print('x' * (5 << 20)); print('LAST')", "exit", "no window of the private fold was asked for"),
    ],
)  # fmt: skip
def test_how_it_ends(run: Run, program: str, how: str, reason: str) -> None:
    left, _ = run(program)
    assert (left.result.state, left.result.boundary) == ("rejected", "agent")
    assert how in {"*", left.result.ended_by}, left.result.reason
    assert reason in str(left.result.reason)


@pytest.mark.sandbox
def test_a_program_that_is_not_there(play: Play, folder: Path) -> None:
    left = play(resolve("cli", command=["no-such-program"], mount=folder), "competent")
    assert (left.result.state, left.result.ended_by) == ("rejected", "failed")
    assert "no-such-program: cannot be run" in str(left.result.reason)


# Without a rollout.
def cli_of(agent: Agent) -> Cli:
    assert isinstance(agent.acts, Cli)
    return agent.acts


def test_words_of_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def words(*command: str, mount: Path | None = folder) -> tuple[str, ...]:
        return cli_of(resolve("cli", command=command, mount=mount)).argv

    main = str(folder / "bin" / "main")
    assert words(main, f"{folder}/x", "/etc/passwd", f"{folder}-beside") == (
        "/opt/cli/bin/main", "/opt/cli/x", "/etc/passwd", f"{folder}-beside",
    )  # fmt: skip
    assert words("bin/main", "./bin/main", "no/such") == ("/opt/cli/bin/main", "/opt/cli/bin/main", "no/such")
    assert words("python3", "-m", "main", "{prompt}") == ("python3", "-m", "main", "{prompt}")
    assert words(main, mount=None) == ("/opt/cli/bin/main",)
    monkeypatch.chdir(folder.parent)
    assert words("brought/bin/main", mount=None) == ("/opt/cli/bin/main",)
    agent = cli_of(resolve("cli", command=["A=1", "B_2=x=y", "main", "C=3"], mount=folder))
    assert (agent.variables, agent.argv) == ((("A", "1"), ("B_2", "x=y")), ("main", "C=3"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"agent": "cli"}, "needs a command"),
        ({"agent": "cli", "command": []}, "found nothing"),
        ({"agent": "cli", "command": ["main"]}, "give --mount FOLDER"),
        ({"agent": "cli", "command": ["no/such/main"]}, "give --mount FOLDER"),
        ({"agent": "cli", "command": ["A=1"], "mount": "."}, "no program after them"),
        ({"agent": "cli", "command": ["main"], "mount": "no-such-folder"}, "cannot be read"),
        ({"agent": "command", "command": ["main"], "mount": "."}, "--mount goes with --agent cli"),
        ({"agent": "react", "mount": "."}, "--mount goes with --agent cli"),
        ({"agent": "cli", "command": ["main"], "mount": ".", "files": "."}, "--files goes with --agent command"),
        ({"agent": "react", "command": ["main"]}, "--command goes with"),
    ],
)
def test_mistakes_are_told(
    arguments: dict[str, Any], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=reason):
        resolve(**arguments)


def test_sampling_of_the_plan_binds_it(folder: Path) -> None:
    agent = resolve("cli", command=["main"], mount=folder)
    assert cli_of(with_sampling(agent, temperature=0.5, reply_tokens=9)).sampling.reply_tokens == 9
    with pytest.raises(UsageError, match="append-only"):
        with_sampling(agent, append_only=True)


def test_a_run_knows_it_by_its_command_and_its_files(folder: Path) -> None:
    def digest(*command: str) -> str:
        return agent_digest(resolve("cli", command=command, mount=folder))

    first = digest("main")
    assert digest("main") == first
    others = {digest("main", "x"), digest("A=1", "main")}
    (folder / "bin" / "main").write_text(MAIN + "\n")
    others.add(digest("main"))
    assert len(others | {first}) == 4
