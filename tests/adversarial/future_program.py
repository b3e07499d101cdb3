"""Runs where agents run, behind ``future_calls``, and tries every door to what became known after a question's time.

It prints all that it was told; the last line is a report as JSON, with what it was told in each question.
"""

# ruff: noqa: PTH113, PTH118, PTH123, PTH202, PTH208, T201, UP031
import http.client
import json
import os
import pickle
import socket
import threading

import interface
from future_calls import BAIT, calls  # both are one program there

from openfingym_agent import SubmissionRefused

GATE = os.environ.get("OPENFINGYM_GATE", "/run/openfingym/gate.sock")
TOOLS = {tool["name"]: tool for tool in interface.contract["tools"]}
said, report = [[]], {"answers": {}, "statuses": {}, "problems": {}, "files": []}


def tell(what):
    """Keep what was told, with the question in which it was."""
    said[-1].append(what if isinstance(what, str) else json.dumps(what))


class Wire(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect(GATE)


def raw(method, path, body=None, headers=None):
    """One request of the gate's, whatever it says."""
    wire = Wire("gate")
    try:
        wire.request(method, path, body, headers or {})
        answer = wire.getresponse()
        text = answer.read().decode("utf-8", "replace")
        tell(text)
        return answer.status, text
    except OSError as error:
        return 0, str(error)
    finally:
        wire.close()


def post(path, document, **headers):
    body = document if isinstance(document, (bytes, str)) else json.dumps(document)
    return raw("POST", path, body, {"Content-Type": "application/json", **headers})


# Nothing is asked before the first reset.
report["statuses"]["before reset"] = post("/v1/steps", {"episode": 1, "step": 1, "action": {"tool": "count_events"}})[0]
env = interface.make()
try:
    env.step({"tool": "count_events", "arguments": {}})
except SubmissionRefused as refused:
    report["problems"]["before reset"] = refused.problem


def flood():
    """Many connections at once: some are turned away, and what is answered is answered as ever."""
    statuses = []

    def ask():
        statuses.append(raw("GET", "/v1/rollout")[0])

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(set(statuses))


def doors(episode, step):
    """Requests that no honest program makes, in the middle of a question."""
    action = {"tool": "count_events", "arguments": {}}
    move = {"episode": episode, "step": step, "action": action}
    nested = "[" * 50_000 + "]" * 50_000
    sent = {
        "the next question": post("/v1/steps", {**move, "episode": episode + 1, "step": 1}),
        "the one before": post("/v1/steps", {**move, "episode": episode - 1}),
        "no question": post("/v1/steps", {**move, "episode": 0}),
        "a negative one": post("/v1/steps", {**move, "episode": -1}),
        "a step ahead": post("/v1/steps", {**move, "step": step + 1}),
        "a huge step": post("/v1/steps", '{"episode": 1, "step": %s, "action": null}' % ("9" * 4000)),
        "a float": post("/v1/steps", {**move, "episode": float(episode)}),
        "another rollout": post("/v1/steps", {**move, "rollout": "0" * 32}),
        "another's token": post("/v1/steps", {**move, "step": step + 7}, Authorization="Bearer 0123456789abcdef"),
        "nested": post("/v1/steps", '{"episode": 1, "step": 1, "action": %s}' % nested),
        "not a number": post("/v1/steps", '{"episode": 1, "step": 1, "action": {"tool": NaN}}'),
        "no text": post("/v1/steps", b"\xff\xfe\x00"),
        "a pickle": raw("POST", "/v1/steps", pickle.dumps(move), {"Content-Type": "application/octet-stream"}),
        "a pickle as an array": raw(
            "POST", "/v1/submissions", pickle.dumps(move), {"Content-Type": "application/x-npy"}
        ),
        "a fold that is none": post("/v1/episodes", {"fold": "train"}),
        "a question by number": post("/v1/episodes", {"fold": "private", "number": 2}),
        "a time": post("/v1/episodes", {"fold": "private", "as_of": "9999-12-31T00:00:00Z"}),
    }
    for path in (
        "/v1/rollouts",
        "/v1/log",
        "/v1/tasks",
        "/v1/rollouts/../admin",
        "/metrics",
        "/openapi.json",
        "/v1/steps?x=1",
        "/v1/vault",
        "//v1/log",
        "/v1/rollout/../log",
        "http://127.0.0.1/v1/log",
    ):
        sent[f"GET {path}"] = raw("GET", path)
        sent[f"POST {path}"] = post(path, {})
    for name, (status, text) in sent.items():
        try:
            problem = str(json.loads(text).get("type", "")).rpartition("/")[2].rpartition(":")[2]
        except (ValueError, AttributeError):
            problem = ""
        report["statuses"][name] = status
        report["problems"][name] = problem


def machine():
    """Files, environment, other processes and sockets: nothing of a vault is in reach."""
    tell(dict(os.environ))
    for folder, folders, names in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in {"sys", "usr", "lib", "lib64", "bin", "sbin", "proc"}]
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".columns", ".search", ".parquet")) or name == "manifest.json":
                report["files"].append(path)
            try:
                if os.path.isfile(path) and os.path.getsize(path) < 5_000_000:
                    with open(path, "rb") as file:
                        content = file.read()
                    if BAIT.encode() in content and b"zznowhere" not in content:
                        report["files"].append(path)
            except OSError:
                pass
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for what in ("environ", "cmdline", "maps", "mountinfo", "status"):
            try:
                with open(f"/proc/{pid}/{what}", "rb") as file:
                    tell(file.read().decode("utf-8", "replace"))
            except OSError:
                pass
    for path in ("/proc/net/unix", "/proc/net/tcp", "/proc/mounts"):
        try:
            with open(path) as file:
                tell(file.read())
        except OSError:
            pass
    for family, address in (
        (socket.AF_INET, ("127.0.0.1", 80)),
        (socket.AF_INET6, ("::1", 80)),
        (socket.AF_UNIX, "\0vault"),
    ):
        try:
            with socket.socket(family) as end:
                end.settimeout(2)
                end.connect(address)
            report["files"].append(str(address))
        except OSError:
            pass


def ask(name, arguments):
    """A call, or why it was refused; what was asked is taken out of what is said."""
    try:
        observation, _, over, cut, _ = env.step({"tool": name, "arguments": arguments})
    except (SubmissionRefused, UnicodeEncodeError) as refused:
        return {"refused": str(refused)[:300]}, False
    return observation, over or cut


def key(action):
    return json.dumps(action, sort_keys=True, default=str)


turn = int(os.environ.get("OPENFINGYM_SEED", "0"))
machine()
report["flood"] = flood()
for place in range(4):
    observation, info = env.reset(options={"fold": "public"} if place == 0 else None)
    said.append([])
    tell(observation)
    day = observation["as_of"][:10]
    doors(info["episode"], info["step"] + 1)
    groups = calls(day)
    # Three invalid calls in a row end a question, so that honest ones are between them.
    others = [call for name, group in groups.items() if name != "canaries" for call in group]
    honest = iter(groups["canaries"])
    for name, arguments in others[(4 * turn + place) % 16 :: 16][:10]:
        for call in ((name, arguments), next(honest)):
            found, over = ask(*call)
            tell(found)
            report["answers"][key([place, *call])] = found
            if over:
                break
        if over:
            break
    if not over:
        env.step({"answer": {"03": ["036"]}})
    # Behind the answer, nothing more is told.
    try:
        env.step({"tool": "count_events", "arguments": {}})
        report["problems"]["after the end"] = "none"
    except SubmissionRefused as refused:
        report["problems"]["after the end"] = refused.problem
report["said"] = said
print(json.dumps(report))
