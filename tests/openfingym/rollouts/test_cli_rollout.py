"""``openfingym rollout`` as a user types it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from openfingym.cli import main
from openfingym.models.testing import StandIn
from openfingym.packages.package import BuiltPackage
from openfingym.results import read_run
from openfingym.results.faults import SCORE_FIELDS
from openfingym.rollouts import RunFolder
from tests.openfingym.models.scripted import Scripted, completion
from tests.openfingym.rollouts.driving import Cli, alive, descendants, runs

TREASURY = ["--tasks", "treasury-forecast", "--backend", "inline", "--concurrency", "2"]


def test_baselines_again_more_seeds_and_a_report(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, said, err = cli.run(
        *TREASURY, "--agent", "naive", "--agent", "nop", "--seeds", "2", "--out", str(out), "--json"
    )
    assert status == 3, "nop is rejected"
    summary = json.loads(said)
    assert [(g["agent"], g["scored"], g["rejected"], g["error"]) for g in summary["groups"]] == [
        ("naive", 2, 0, 0),
        ("nop", 0, 2, 0),
    ]
    assert "4/4 treasury-forecast" in err
    status, said, err = cli.run(*TREASURY, "--agent", "naive", "--seeds", "0,1,7", "--out", str(out))
    assert status == 0
    assert "2 of 3 rollouts are finished already" in err
    assert f"openfingym report {out}" in said
    assert cli.run(*TREASURY, "--agent", "naive", "--seeds", "1", "--again", "--out", str(out))[0] == 0
    assert sorted((r["agent"], r["seed"], r["attempt"]) for r in runs(out)) == [
        ("naive", 0, 0), ("naive", 0, 1), ("naive", 1, 0), ("naive", 7, 0), ("nop", 0, 0), ("nop", 1, 0),
    ]  # fmt: skip
    naive = [r for r in runs(out) if r["agent"] == "naive"]
    assert all(r["relative_total"] == pytest.approx(1.0) for r in naive)
    assert cli.leftovers() == []


def test_failures_of_ours_are_no_score_and_redone_when_asked(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [*TREASURY, "--agent", "naive", "--out", str(out)]
    assert cli.run(*command)[0] == 0
    (path,) = out.glob("*/*/result.json")
    failed = {
        **json.loads(path.read_text()),
        **dict.fromkeys(SCORE_FIELDS),
        "state": "error",
        "reason": "the disk was full",
    }
    path.write_text(json.dumps(failed))
    status, said, _ = cli.run(*command)
    assert status == 4
    assert "a failure of ours, not a score: the disk was full" in said
    assert "--retry error" in said
    assert cli.run(*command, "--retry", "error")[0] == 0
    assert [r["state"] for r in runs(out)] == ["scored"]
    (evidence,) = (out / ".failed").iterdir()
    assert read_run(evidence).reason == "the disk was full"


def test_parts_of_a_run_make_the_whole(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    for part in ("1/2", "2/2"):
        command = [*TREASURY, "--agent", "nop", "--seeds", "5", "--shard", part, "--out", str(tmp_path / part[0])]
        assert cli.run(*command)[0] == 3
    parts = [{r["seed"] for r in runs(tmp_path / name)} for name in ("1", "2")]
    assert parts == [{0, 2, 4}, {1, 3}]


def test_a_dry_run_says_what_would_be_run_and_leaves_no_trace(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [
        *TREASURY,
        "--agent",
        "naive",
        "--agent",
        "oneshot",
        "--model",
        "stand-in/competent",
        "--seeds",
        "2",
        "--out",
        str(out),
    ]
    status, said, _ = cli.run(*command, "--dry-run")
    assert status == 0
    assert "4 of 4 rollouts would be run" in said
    assert "with 2 seeds on this task (real data) a difference below " in said
    assert not out.exists()
    status, said, err = cli.run(*TREASURY, "--agent", "naive", "--seeds", "1", "--out", str(out), "--quiet")
    assert (status, err, "openfingym report" in said) == (0, "", True), "who wants it quiet has the results alone"
    before = sorted(out.rglob("*"))
    status, said, _ = cli.run(*command, "--dry-run", "--json", "--max-cost", "0.5")
    plan = json.loads(said)
    (told,) = plan["foreseen"]
    assert (told["tasks"], told["seeds"], told["over"]) == (["treasury-forecast"], 2, "item")
    assert 0.0 < told["difference"] < 1.0
    assert plan["not_foreseen"] == []
    assert [(one["agent"], one["seed"], one["finished"]) for one in plan["rollouts"]] == [
        ("naive", 0, True), ("oneshot", 0, False), ("naive", 1, False), ("oneshot", 1, False),
    ]  # fmt: skip
    assert [(group["agent"], group["rollouts"], group["finished"], group["most_usd"]) for group in plan["groups"]] == [
        ("naive", 2, 1, None), ("oneshot", 2, 0, 1.0),
    ]  # fmt: skip
    status, said, _ = cli.run(*command, "--dry-run", "--budget", "0.01")
    assert "no rollout of a model begins once $0.01 are spent" in said
    assert sorted(out.rglob("*")) == before
    pair = ("--tasks", "fx-forecast,treasury-forecast", "--agent", "naive", "--out", str(out), "--dry-run")
    status, _, err = cli.run(*pair)
    assert (status != 0, "give several one by one" in err) == (True, True), err


@pytest.mark.sandbox
def test_each_model_is_asked_where_its_plan_says_it_is(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    cli.environment["MY_KEY"] = "secret"
    with StandIn() as mine:
        (tmp_path / "plan.toml").write_text(
            'tasks = ["treasury-forecast"]\nagents = ["oneshot"]\nbackend = "sandbox"\n'
            f'models = ["stand-in/careless", {{ name = "stand-in/competent", base_url = "{mine.base_url}", key = '
            '"MY_KEY" }]\n'
        )
        status, said, err = cli.run(
            "--plan", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "run"), "--max-tokens", "9000", "--json"
        )
        assert status in {0, 3}, err
    assert [group["model"] for group in json.loads(said)["groups"]] == ["stand-in/careless", "stand-in/competent"]
    assert mine.served == {"stand-in/competent": 1}
    configs = {
        config["model"]: config
        for config in (json.loads(path.read_text()) for path in tmp_path.glob("run/*/*/config.json"))
    }
    assert configs["stand-in/competent"]["base_url"] == mine.base_url
    assert configs["stand-in/careless"]["base_url"] is None
    assert all(config["allowance"]["tokens"] == 9000 for config in configs.values())
    assert not any("secret" in path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())


WRONG = {
    "nothing to do": ([], "say what to run"),
    "no agent": (["--tasks", "fx-forecast"], "say what to run"),
    "unknown agent": (["--tasks", "fx-forecast", "--agent", "rigde"], "did you mean 'ridge'?"),
    "no tasks": (["--tasks", "zzz*", "--agent", "naive"], "matches no task"),
    "seeds": (["--tasks", "fx-forecast", "--agent", "naive", "--seeds", "two"], "--seeds"),
    "no seeds": (["--tasks", "fx-forecast", "--agent", "naive", "--seeds", ""], "--seeds: expected at least one"),
    "no seed": (["--tasks", "fx-forecast", "--agent", "naive", "--seeds", ","], "--seeds: expected at least one"),
    "no key": (
        ["--tasks", "fx-forecast", "--agent", "oneshot", "--model", "far-away"],
        "needs a key in $OPENAI_API_KEY",
    ),
    "part": (["--tasks", "fx-forecast", "--agent", "naive", "--shard", "3/2"], "k/n"),
}


COMMAND_LINE = """\
#!/bin/sh
python3 - <<'END'
import json, os, urllib.request
import interface, numpy
body = {"model": os.environ["OPENFINGYM_MODEL"], "messages": [{"role": "user", "content": "hello"}]}
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
urllib.request.urlopen(request, timeout=60).read()
interface.predict_each(lambda x: numpy.repeat(x[:, -1:], interface.HORIZON, axis=1))
END
"""
"""A small coding command line: it asks the model once, and submits the last value."""


@pytest.mark.sandbox
def test_a_command_line_inside_goes_on_where_its_run_was_broken_off(
    cli: Cli, treasury: BuiltPackage, tmp_path: Path
) -> None:
    """It is killed at its second question, interrupted by Ctrl-C at the third, and left alone then."""
    program, out, asked = tmp_path / "brought" / "bin" / "main", tmp_path / "run", list[int]()
    program.parent.mkdir(parents=True)
    program.write_text(COMMAND_LINE)
    program.chmod(0o755)
    endings = {2: signal.SIGKILL, 3: signal.SIGINT}
    children = []

    def answer(body: dict[str, Any], _: int) -> Any:
        asked.append(body["seed"])
        if (sign := endings.pop(len(asked), None)) is not None:
            children.extend(descendants(cli.started[-1].pid))
            cli.started[-1].send_signal(sign)
            cli.started[-1].wait(timeout=60)
        return completion({"role": "assistant", "content": "Hello."})

    with Scripted(answer) as endpoint:
        plan = tmp_path / "plan.toml"
        plan.write_text(
            f"""tasks = ["treasury-forecast"]
agents = [{{ name = "mine", command = ["bin/main"], mount = "{program.parent.parent}" }}]
models = [{{ name = "scripted", base_url = "{endpoint.base_url}" }}]
seeds = 3
concurrency = 1
backend = "sandbox"
"""
        )
        words = ["--plan", str(plan), "--out", str(out)]
        for _ in range(2):
            cli.start(*words).communicate(timeout=120)
            assert [run["seed"] for run in runs(out)] == [0]
            assert alive(children) == [], "what ran inside ends with its run"
        status, said, err = cli.run(*words)
    assert (status, asked) == (0, [0, 1, 1, 1, 2]), (said, err)
    told = [(run["seed"], run["state"], run["turns"], run["submissions_accepted"]) for run in runs(out)]
    assert sorted(told) == [(seed, "scored", 1, 1) for seed in range(3)]
    assert cli.leftovers() == []


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_two_and_one_message(case: str, cli: Cli, tmp_path: Path) -> None:
    arguments, expected = WRONG[case]
    status, _, err = cli.run(*arguments, "--out", str(tmp_path))
    assert status == 2
    assert expected in err
    assert "Traceback" not in err
    with RunFolder.open(tmp_path):
        pass


def test_ctrl_c_before_the_first_rollout_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("openfingym.rollouts.running.prepare", interrupted)
    monkeypatch.setattr(
        "sys.argv", ["openfingym", "rollout", *TREASURY, "--agent", "naive", "--out", str(tmp_path / "run")]
    )
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 130
    assert "the same command goes on" in capsys.readouterr().err
    with RunFolder.open(tmp_path / "run"):
        pass
