"""Plans: what they may say, and which rollouts they give."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym import catalog
from openfingym.agents.llm import OneShot, Sampling
from openfingym.errors import TaskNotFoundError, UsageError
from openfingym.rollouts import Plan, select
from openfingym.rollouts.selection import expand, shard
from openfingym.rollouts.spec import agent_digest
from tests.openfingym.rollouts.driving import spec

ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.fixture(scope="module")
def forecasts() -> tuple[str, ...]:
    """Names of all tasks of forecasting, in the order of the catalogue."""
    return tuple(row.name for row in catalog.tasks("forecasting"))


def names(plan: Plan) -> list[tuple[str, str]]:
    return [(task.name, agent.name) for task, agent in select(plan).pairs]


def test_a_family_gives_all_of_its_tasks_and_leaves_out_those_an_agent_is_not_for(forecasts: tuple[str, ...]) -> None:
    selection = select(Plan.make({"tasks": ["forecasting/*"], "agents": ["naive", "ridge"]}))
    by = Counter(agent.name for _, agent in selection.pairs)
    assert by["naive"] == len(forecasts)
    assert by["ridge"] == len(forecasts) - len(selection.skipped["ridge"])
    assert "crypto-rolling-forecast" in selection.skipped["ridge"]
    assert "naive" not in selection.skipped


def test_patterns_overlap_without_repeating_a_task_and_a_folder_is_a_task(
    own_task: Path, forecasts: tuple[str, ...]
) -> None:
    assert names(
        Plan.make({"tasks": ["fx-*", "fx-forecast", "forecasting/fx-forecast", str(own_task)], "agents": ["naive"]})
    ) == [
        *((name, "naive") for name in forecasts if name.startswith("fx-")),
        ("my-task", "naive"),
    ]


def test_every_combination_comes_once_and_seeds_vary_slowest() -> None:
    plan = Plan.make(
        {"tasks": ["fx-forecast", "treasury-forecast"], "agents": ["naive", "ridge"], "seeds": [3, 5], "attempts": 2}
    )
    specs = expand(plan, select(plan), {"fx-forecast": "a", "treasury-forecast": "b"})
    assert len(specs) == len({one.identity for one in specs}) == 2 * 2 * 2 * 2
    assert [(one.attempt, one.seed) for one in specs] == [(a, s) for a in (0, 1) for s in (3, 5) for _ in range(4)]
    assert {one.task_digest for one in specs if one.task == "fx-forecast"} == {"a"}


BAD = {
    "no tasks": ({"tasks": []}, "tasks: needs at least one"),
    "unknown key": ({"sedes": 3}, "did you mean 'seeds'?"),
    "no seed": ({"seeds": 0}, "seeds: needs at least one"),
    "true": ({"seeds": True}, "seeds"),
    "number": ({"agents": [3]}, "agents[0]"),
    "taken name": ({"agents": [{"name": "ridge", "program": "x.py"}]}, "another name"),
    "limit": ({"limits": {"turns": 0}}, "limits.turns"),
    "family": ({"tasks": ["forecast/*"]}, "did you mean 'forecasting'?"),
    "nothing": ({"tasks": ["zzz*"]}, "matches no task"),
    "agent": ({"agents": ["rigde"]}, "did you mean 'ridge'?"),
    "named, but not for it": ({"tasks": ["crypto-rolling-forecast"]}, "does not fit"),
    "for none": ({"tasks": ["fraud/*"]}, "is for none of fraud/*"),
    "no script": ({"agents": ["script"]}, "--program"),
    "one task as a text": ({"tasks": "fx-forecast"}, "tasks: expected a list, found 'fx-forecast'"),
    "limits as a number": ({"limits": 3}, "limits: expected a table"),
    "a seed below 0": ({"seeds": [3, -1]}, "seeds: a seed is 0 or more, found -1"),
    "seeds without end": ({"seeds": 10**12}, "seeds: at most"),
    "files of no command": ({"agents": [{"name": "mine", "files": "x"}]}, "go with a command"),
    "mount of no command": ({"agents": [{"name": "mine", "mount": "x"}]}, "goes with a command"),
    "mount and files": (
        {"agents": [{"name": "mine", "command": ["x"], "mount": "x", "files": "x"}]},
        "without files",
    ),
    "sampling": ({"sampling": {"temprature": 1.0}}, "did you mean 'temperature'?"),
    "sampling for nobody": ({"sampling": {"temperature": 1.0}}, "sampling is for agents that ask a model"),
    "no prices": ({"prices": "nowhere.toml"}, "nowhere.toml: the price table cannot be read"),
    "a key in a file": ({"models": [{"name": "m", "key": "sk-secret"}]}, "names an environment variable"),
    "a model twice": (
        {"agents": ["oneshot"], "models": ["m", {"name": "m", "key": "OTHER_KEY"}]},
        "a model is given twice",
    ),
    "no price": (
        {"agents": ["oneshot"], "models": ["mine"], "limits": {"cost_usd": 1.0}},
        "no price is known for model 'mine'",
    ),
    "model for nobody": ({"models": ["stand-in/competent"]}, "asks a model"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_plan_is_refused_with_the_remedy(case: str) -> None:
    changes, expected = BAD[case]
    with pytest.raises(UsageError) as caught:
        select(Plan.make({"tasks": ["fx-forecast"], "agents": ["ridge"], **changes}))
    assert expected in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_an_option_changes_its_key_of_a_table_alone_and_sampling_reaches_those_who_ask(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        'tasks = ["fx-forecast"]\nagents = ["naive", "oneshot"]\nmodels = ["stand-in/competent"]\n'
        "[limits]\nturns = 4\ntokens = 100\n[sampling]\ntemperature = 0.5\n"
    )
    plan = Plan.read(file, {"limits": {"turns": 9}, "sampling": {"reply_tokens": 7}})
    assert (plan.allowance.turns, plan.allowance.tokens) == (9, 100)
    (_, naive), (_, oneshot) = select(plan).pairs
    assert naive.acts is None
    assert isinstance(oneshot.acts, OneShot)
    assert oneshot.acts.sampling == Sampling(temperature=0.5, reply_tokens=7)
    other = select(Plan.read(file)).pairs[1][1]
    assert agent_digest(oneshot) != agent_digest(other), "asked in another way, it is another rollout"


def test_each_model_may_have_a_place_of_its_own_whoever_names_it(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        'tasks = ["fx-forecast"]\nagents = ["oneshot"]\nbase_url = "http://gateway/v1"\n'
        'models = ["one", { name = "two", base_url = "http://two/v1", key = "TWO_KEY" }]\n'
    )
    places = [(spec.name, spec.base_url, spec.key_variable) for spec in Plan.read(file).model_specs]
    assert places == [("one", "http://gateway/v1", "OPENAI_API_KEY"), ("two", "http://two/v1", "TWO_KEY")]
    assert Plan.read(file, {"models": ("two",)}).model_specs == Plan.read(file).model_specs[1:]
    assert [one.model for one in expand(Plan.read(file), select(Plan.read(file)), {"fx-forecast": "d"})] == [
        "one",
        "two",
    ]


def test_the_papers_table_is_of_the_papers_tasks() -> None:
    plan = Plan.read(ROOT / "examples" / "plans" / "paper-table-4.toml", {"models": ["stand-in/competent"]})
    families = Counter(task.spec.family for task, _ in select(plan).pairs)
    assert families == {"forecasting": 5, "generation": 13, "trading": 2, "fraud": 7}, (
        "the paper's 24, and the 3 of generation it left out"
    )


def test_a_task_that_is_not_there_is_named_with_its_neighbours() -> None:
    with pytest.raises(TaskNotFoundError, match="did you mean 'fx-forecast"):
        select(Plan.make({"tasks": ["fx-forecats"], "agents": ["ridge"]}))


def test_a_file_says_the_same_its_programs_lie_beside_it_and_the_caller_wins(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('mine')")
    file = tmp_path / "plan.toml"
    text = 'tasks = ["fx-forecast"]\nseeds = 3\n[[agents]]\nname = "mine"\nprogram = "mine.py"\n[limits]\nturns = 4\n'
    file.write_text(text.replace("[limits]", '[[agents]]\nname = "theirs"\ncommand = ["./agent", "--fast"]\n[limits]'))
    plan = Plan.read(file, {"seeds": 1})
    (_, agent), (_, outside) = select(plan).pairs
    assert (outside.name, outside.kind) == ("theirs", "command")
    assert (agent.name, agent.program, agent.trusted) == ("mine", "print('mine')", False)
    assert plan.seeds == (0,)
    assert plan.allowance.turns == 4
    with pytest.raises(UsageError, match="cannot be read"):
        Plan.read(tmp_path / "none.toml")
    file.write_text("tasks = [")
    with pytest.raises(UsageError, match=r"plan.toml: not valid TOML"):
        Plan.read(file)


def test_a_command_line_inside_asks_every_model(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    (tmp_path / "mine" / "main").write_text("")
    file = tmp_path / "plan.toml"
    file.write_text(
        'tasks = ["fx-forecast"]\nmodels = ["stand-in/competent", "stand-in/careless"]\n'
        '[[agents]]\nname = "mine"\ncommand = ["main", "{prompt}"]\nmount = "mine"\n'
    )
    plan = Plan.read(file)
    selection = select(plan)
    ((_, agent),) = selection.pairs
    assert (agent.name, agent.kind, agent.asks_model) == ("mine", "model", True)
    specs = expand(plan, selection, {"fx-forecast": "0" * 64})
    assert [spec.model for spec in specs] == ["stand-in/competent", "stand-in/careless"]
    assert len({spec.identity for spec in specs}) == 2
    with pytest.raises(UsageError, match="needs a model"):
        select(Plan.read(file, {"models": []}))


@given(st.integers(0, 40), st.integers(1, 9))
def test_the_parts_of_a_run_are_the_run(total: int, parts: int) -> None:
    specs = [spec(seed=seed) for seed in range(total)]
    found = [one for k in range(1, parts + 1) for one in shard(specs, f"{k}/{parts}")]
    assert sorted(one.seed for one in found) == list(range(total))
    sizes = [len(shard(specs, f"{k}/{parts}")) for k in range(1, parts + 1)]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/b", "1/2/3", "-1/2"])
def test_no_part(text: str) -> None:
    with pytest.raises(UsageError, match="k/n"):
        shard([spec()], text)


@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "plans").glob("*.toml")), ids=lambda path: path.stem)
def test_the_example_plans_can_be_run(file: Path) -> None:
    assert select(Plan.read(file, {"models": ["stand-in/competent"]} if "models" in file.read_text() else None)).pairs


def test_every_key_of_a_plan_is_documented() -> None:
    section = (ROOT / "docs" / "rollouts.md").read_text().partition("\n## Plans\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(Plan.model_fields)


def test_a_model_for_each_agent_that_asks_one_and_for_no_other() -> None:
    plan = Plan.make(
        {
            "tasks": ["fx-forecast"],
            "agents": ["naive", "oneshot"],
            "models": ["stand-in/competent", "stand-in/broken"],
            "limits": {"turns": 3},
        }
    )
    specs = expand(plan, select(plan), {"fx-forecast": "d"})
    assert [(one.agent.name, one.model, one.allowance.turns) for one in specs] == [
        ("naive", None, None),
        ("oneshot", "stand-in/competent", 3),
        ("oneshot", "stand-in/broken", 3),
    ]
    with pytest.raises(UsageError, match="needs a model"):
        select(Plan.make({"tasks": ["fx-forecast"], "agents": ["oneshot"]}))


def test_a_clock_is_for_tasks_about_what_has_not_happened_yet_and_for_agents_that_do_not_know_it() -> None:
    asked = Plan.make({"tasks": ["event-forecast"], "agents": ["naive"], "clock": "real"})
    plain = Plan.make({"tasks": ["event-forecast"], "agents": ["naive"]})
    found = [expand(plan, select(plan), {"event-forecast": "d"})[0] for plan in (asked, plain)]
    assert [one.clock for one in found] == ["real", None]
    assert found[0].identity != found[1].identity
    assert "clock" not in found[1].inputs
    for tasks, agents, said in (
        (["event-forecast", "treasury-forecast"], ["naive"], "treasury-forecast is none"),
        (["event-forecast"], ["naive", "oracle"], "oracle does not know"),
    ):
        with pytest.raises(UsageError, match=said):
            select(Plan.make({"tasks": tasks, "agents": agents, "clock": "real"}))
    with pytest.raises(UsageError, match="clock"):
        Plan.make({"tasks": ["event-forecast"], "agents": ["naive"], "clock": "mine"})
