"""The files of protocols: whole, about tasks there are, and listed in the documentation."""

import inspect
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym.catalog import tasks
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.published.measures import MEASURES
from openfingym.published.protocol import PaperProtocol, protocol_of, protocols
from openfingym.task.toml import checked

DOCS = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"


def test_every_measure_takes_the_options_it_is_given():
    assert len(protocols()) == 5
    for protocol in protocols():
        for metric in protocol.metrics:
            inspect.signature(MEASURES[metric.measure]).bind(object(), **metric.options)
    assert {metric.measure for protocol in protocols() for metric in protocol.metrics} == set(MEASURES)


def test_the_documentation_says_of_every_generation_task_what_it_follows_or_why_nothing():
    section = DOCS.read_text(encoding="utf-8").split("## Published protocols")[1].split("\n## ")[0]
    stated = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+?) \|", section, re.MULTILINE))
    followed = {task: f"`{protocol.name}`" for protocol in protocols() for task in protocol.tasks}
    generation = {task.name for task in tasks("generation")}
    assert set(followed) <= generation
    assert stated == {task: followed.get(task, "none") for task in generation}


def test_every_figure_says_where_it_stands_and_every_task_why_it_is_not_the_papers():
    for protocol in protocols():
        assert protocol.assumed
        assert all(one.place for one in protocol.figures)
        assert all(note.differs for note in protocol.tasks.values())


def test_a_task_without_a_protocol_is_told_which_have_one():
    with pytest.raises(UsageError, match=r"exchange-generation follows no published protocol.*tail-gan-generation"):
        protocol_of("exchange-generation")
    told = CliRunner().invoke(cli, ["published", "exchange-generation"])
    assert "name the answer to score" in str(told.exception)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"metrics": [{"name": "m", "measure": "put_gap"}] * 2}, "twice"),
        ({"metrics": [{"name": "m", "measure": "put_gap", "tasks": ["other"]}]}, "not for"),
        ({"figures": [{"task": "t", "metric": "x", "model": "a", "mean": 1.0, "place": "b"}]}, "unknown metrics"),
        ({"figures": [{"task": "u", "metric": "m", "model": "a", "mean": 1.0, "place": "b"}]}, "not for"),
        ({"tasks": {"t": {"differs": []}}}, "differs"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(change, fault):
    sound = dict.fromkeys(("name", "paper", "table", "code"), "x") | {
        "repeats": 1,
        "drawing": {"pool": "all", "how": "permuted"},
        "metrics": [{"name": "m", "measure": "put_gap"}],
        "tasks": {"t": {"differs": ["x"]}},
    }
    checked(PaperProtocol, sound, "x.toml")
    with pytest.raises(UsageError, match=fault):
        checked(PaperProtocol, sound | change, "x.toml")
