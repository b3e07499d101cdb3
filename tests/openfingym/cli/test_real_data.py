"""What `task show` says of real forms, against what `--real` does."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task, task_folders
from openfingym.cli import cli
from openfingym.cli.real_data import real_data
from openfingym.errors import DataError, TaskError
from openfingym.kinds import kind_of
from openfingym.packages.scaffold import new_task
from openfingym.task import Task


@pytest.mark.parametrize("name", task_folders())
def test_a_task_without_a_real_form_says_why_and_refuses_real_data(name: str) -> None:
    said = real_data(load_task(name))
    real = load_task(name, real=True)
    if said == "its own":
        assert not real.real
    elif said.startswith("none: "):
        with pytest.raises(TaskError, match="no real data is known"):
            kind_of(real).load(real)
    else:
        # There is a form, and nothing has been pulled.
        with pytest.raises(DataError) as missing:
            kind_of(real).load(real)
        assert said.partition("`")[2].rstrip("`") in str(missing.value)


def test_a_task_of_an_author_is_told_where_a_source_is_stated(tmp_path) -> None:
    assert "state" in real_data(Task.read(new_task("mine", tmp_path, "forecast")))


def test_a_graph_of_an_author_has_no_other_form(tmp_path) -> None:
    edges = "".join(f"n{i},n{(i * 7 + j) % 60}\n" for i in range(60) for j in (1, 2))
    (tmp_path / "edges.csv").write_text(f"from,to\n{edges}", encoding="utf-8")
    labels = "".join(f"n{i},{int(i % 4 == 0)}\n" for i in range(60))
    (tmp_path / "labels.csv").write_text(f"node,label\n{labels}", encoding="utf-8")
    files = ["--from", str(tmp_path / "edges.csv"), "--labels", str(tmp_path / "labels.csv")]
    arguments = ["task", "new", "mine", "--kind", "nodes", *files, "--to", str(tmp_path)]
    CliRunner().invoke(cli, arguments, catch_exceptions=False)
    config = tmp_path / "mine" / "task.toml"
    stated = '[metadata.openfingym.dataset.pulled]\nsource = "amazon-fraud-graph"\n\n[metadata.openfingym.contract]'
    text = config.read_text(encoding="utf-8").replace('kind = "real" ', 'kind = "simulated" ')
    config.write_text(text.replace("[metadata.openfingym.contract]", stated), encoding="utf-8")
    assert real_data(load_task(tmp_path / "mine")).startswith("none: a nodes task on a file of its author's")
    real = load_task(tmp_path / "mine", real=True)
    with pytest.raises(TaskError, match=r"so dataset\.pulled cannot be used; remove it\. Run it without --real"):
        kind_of(real).load(real)


def test_the_command_shows_it() -> None:
    shown = CliRunner().invoke(cli, ["task", "show", "lob-forecast"], catch_exceptions=False).output
    assert "real data  none: no source that can be pulled publishes order books" in shown
