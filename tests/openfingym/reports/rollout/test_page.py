"""The page of a rollout: everything that was said and done, in harmless text, and drawings that show nothing hidden.

Attacks: a page for others of the `oracle`, of a trading account, of a run on hidden data of its own, with hidden values
in its drawings; endless lines, open fences and texts of megabytes, for a page that takes minutes to open.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from openfingym import catalog
from openfingym.kinds import kind_of
from openfingym.kinds.pictures import AgentAnswer, decided
from openfingym.models.messages import Usage
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.reports.rollout.page import render
from openfingym.reports.rollout.pages import page_names, write_pages
from openfingym.reports.rollout.texts import COLOURED, LONGEST, text_block, text_blocks
from openfingym.results import read_run
from openfingym.results.run_folder import RunFiles, write_run
from openfingym.trajectory.record import Generation, StepReward, ToolUse, Turn
from tests.openfingym.reports.browser import opened
from tests.openfingym.reports.made import PLAYED, failed, record_of, scored
from tests.openfingym.reports.test_hostile_text import WORST, structure

START = datetime(2026, 1, 1, tzinfo=UTC)
CODE = "import numpy as np\n" + "\n".join(f"line_{number} = {number}" for number in range(100))
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "article", "nav", "div", "p", "a"),
    *("h1", "h2", "h3", "span", "strong", "small", "b", "dl", "dt", "dd", "ul", "li", "pre", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "line", "text", "path"),
}
GENERATION = Generation(model="m", finish_reason="length", usage=Usage(10, 5), latency_s=1.25, cost_usd=0.5)


def turns(text: str) -> tuple[Turn, ...]:
    """A conversation in which everything that others write is, or holds, ``text``."""
    calls = (
        ToolUse(
            id="1", name="run_python", arguments=json.dumps({"code": f"{CODE}\n{text}", "q": text}), result=text,
            failed=True, wall_s=2.5,
        ),
        ToolUse(id="2", name=f"name {text}", arguments=f"no JSON {text}", result=f"{text}\n" * 100),
        ToolUse(id="3", name="submit", arguments='{"path": "a.npy"}', result=f"told {text}"),
    )  # fmt: skip
    return (
        Turn(role="system", content=text),
        Turn(role="user", content=f"```python\n{text}\n```"),
        Turn(
            role="assistant",
            content=f"said {text}\n```\nprint({text})\n```",
            reasoning=f"thought {text}",
            generation=GENERATION,
            tool_calls=calls,
            at=START + timedelta(seconds=1),
        ),
        Turn(role="assistant", content="done", generation=GENERATION, at=START + timedelta(seconds=9)),
    )


def run_folder(
    root: Path,
    messages: tuple[Turn, ...] = (),
    *,
    values: object = None,
    output: str = "",
    actions: list[dict[str, object]] | None = None,
    **changes: object,
) -> Path:
    """A run as one is written, with one accepted submission."""
    usual = replace(PLAYED, rollout_id="r1", task="fx-forecast", turns=2, started_at=START.isoformat())
    result = replace(usual, **changes)  # type: ignore[arg-type]  # as the caller says
    rewards = (StepReward(episode=0, step=4, reward=-0.5, message=2),) if messages else ()
    record = record_of(result, messages, rewards, START).model_dump_json() if messages else None
    buffer = io.BytesIO()
    np.save(buffer, np.arange(24.0).reshape(2, 3, 4) if values is None else np.asarray(values))
    at = int((START + timedelta(seconds=3)).timestamp() * 1e9)
    log = [{"entry": {"event": "accepted", "submission": 1, "at_ns": at}}]
    log += [{"entry": {"event": "rejected", "problem": "shape", "at_ns": at}}]
    files = RunFiles({}, "print('program')", output.encode(), log, {1: buffer.getvalue()}, actions, record)
    written = write_run(root, result, files)
    assert written.path is not None
    return written.path


def page(folder: Path) -> str:
    return render(folder, read_run(folder))


def test_it_holds_the_conversation_with_what_failed_one_click_away(tmp_path):
    made = page(run_folder(tmp_path, turns("a word")))
    anchors = set(re.findall(r'id="([^"]+)"', made))
    links = re.findall(r'href="#([^"]+)"', made)
    assert set(links) <= anchors
    # The call that failed is named, and linked, before the conversation and before every figure.
    assert made.index('href="#call-2-1"') < made.index('id="conversation"')
    assert "1 failed call<" in made
    assert 'class="call failed" id="call-2-1"' in made
    # A submission leads to the answer in which it was made, and shows what was told of it.
    assert 'in <a href="#message-2">Answer 1</a>' in made
    before = made[made.index('id="submissions"') : made.index('id="conversation"')]
    assert "told a word" in before
    assert "3.0 s after the start" in before
    assert "Refused: shape" in before
    for text in ("thought a word", "1.2 s, 10 + 5 tokens, $0.5000, ended by length", "reward of step 4: -0.5"):
        assert text in made
    assert '<span class="p-kn">import</span>' in made
    assert "<summary>102 lines</summary>" in made


def test_a_program_without_a_conversation_is_shown_with_its_output(tmp_path):
    made = page(run_folder(tmp_path, output="it says <script>alert(1)</script>\n", model=None))
    assert "it says &lt;script&gt;alert(1)&lt;/script&gt;" in made
    assert '<span class="p-nb">print</span>' in made


def test_no_text_of_others_makes_an_element(tmp_path):
    folder = run_folder(
        tmp_path, turns(WORST), model=f"model {WORST}", task=f"task {WORST}", agent=f"agent {WORST}",
        data_kind=f"data {WORST}", flags=(WORST,), metrics={WORST: 1.0}, ended_by=WORST,
    )  # fmt: skip
    made = page(folder)
    found = structure(made)
    parts = [part for part in found.parts if isinstance(part, tuple)]
    assert {tag for tag, _, _ in parts} <= ELEMENTS
    assert not [name for _, names, _ in parts for name in names if name.startswith("on") or name == "style"]
    assert all(values.get("href", "#").startswith("#") for _, _, values in parts)
    said = "".join(found.text).replace("\0", "\ufffd")
    for name in ("model ", "task ", "agent ", "thought ", "name ", "told ", "no JSON "):
        assert name + WORST.replace("\0", "\ufffd").replace("\n", "\n") in said, name
    shown = opened(made, tmp_path / "page.html")
    assert {part[0] for part in structure(shown).parts if isinstance(part, tuple)} <= ELEMENTS | {"tbody"}
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', made)
    assert policy is not None
    assert re.fullmatch(r"default-src &#39;none&#39;; style-src &#39;sha256-[^;]+&#39;", policy[1])


def test_texts_without_end_are_cut_and_said_to_be():
    found = text_block("x" * (LONGEST + 7))
    assert (len(found.text), found.left_out, found.folded) == (LONGEST, 7, True)
    assert "span" not in text_block("a = 1\n" * COLOURED, "python").text
    # As many fences as there are lines, none of which ends another.
    assert [one.code for one in text_blocks("```python\n" * 10_000)] == [True]
    assert [(str(one.text), one.code) for one in text_blocks("a\n```text\nb\n```\nc")] == [("a", 0), ("b", 1), ("c", 0)]


# One task of every kind that there is, by the quickest to build.
TASKS = ("treasury-forecast", "fbm-generation", "ba2motifs-fraud", "equity-trading", "equity-rolling-forecast")


@pytest.mark.parametrize("name", TASKS)
def test_pictures_are_made_without_the_hidden_half(name, store_home, tmp_path):
    package = build(catalog.load_task(name))
    public, described = BuiltPackage(package.public, tmp_path / "none"), package.contract
    with np.errstate(all="raise"):
        answer = AgentAnswer(
            np.ones(package.manifest.submission_shape),
            [[{"weights": [0.5, 0.25, 0.25]}, None]],
            described["labels"],
            described.get("channels", ()),
            public.array,
        )
        pictures = kind_of(package.task).pictures(package.task.spec.contract, answer)
    assert pictures
    for picture in pictures:
        assert picture.values is not None or picture.curves
        assert all(len(curve.x) == len(curve.y) and (np.diff(curve.x) > 0).all() for curve in picture.curves)


def test_a_forecast_is_drawn_window_by_window(treasury, tmp_path):
    """Of the first and the last step; never with what windows showed, which is hidden."""
    values = np.full(treasury.manifest.submission_shape, 3.0)
    folder = run_folder(tmp_path, task="treasury-forecast", task_digest=treasury.manifest.digest, values=values)
    made = page(folder)
    assert made.count('<figure class="curves">') == 2
    assert "5 rows ahead, window by window" in made
    # Of another build, and on hidden data of its own, it is not known what the numbers are about.
    other = page(run_folder(tmp_path / "b", task="treasury-forecast", task_digest="0" * 64, values=values))
    assert "not in the store here" in other
    assert "window by window" not in other
    digest = treasury.manifest.digest
    fresh = page(run_folder(tmp_path / "c", task="treasury-forecast", task_digest=digest, tape="fresh", values=values))
    assert "had hidden data of its own" in fresh
    assert "window by window" not in fresh


def test_windows_that_nobody_answered_are_not_drawn(treasury, tmp_path):
    values = np.full(treasury.manifest.submission_shape, 3.0)
    values[treasury.manifest.n_public :] = np.nan
    digest = treasury.manifest.digest
    made = page(run_folder(tmp_path, task="treasury-forecast", task_digest=digest, values=values))
    whole = page(run_folder(tmp_path / "b", task="treasury-forecast", task_digest=digest, values=values * 0 + 3.0))
    assert made.count('<figure class="curves">') == whole.count('<figure class="curves">') == 2
    other = page(run_folder(tmp_path / "c", task="treasury-forecast", task_digest="0" * 64, values=values))
    assert f"{np.isfinite(values).sum():,} values" in other
    nothing = page(run_folder(tmp_path / "d", task="treasury-forecast", task_digest=digest, values=values * np.nan))
    assert "<figure" not in nothing


def test_neither_the_hidden_answer_nor_an_account_of_unknown_bars_is_drawn(treasury, tmp_path):
    values = np.full(treasury.manifest.submission_shape, 3.0)
    digest = treasury.manifest.digest
    oracle = run_folder(
        tmp_path, task="treasury-forecast", task_digest=digest, agent="oracle", model=None, values=values
    )
    assert "<figure" not in page(oracle)
    assert "hidden answer was submitted" in page(oracle)
    account = run_folder(tmp_path / "b", task="some-trading", actions=[], values=np.ones((2, 3, 7)))
    assert "<figure" not in page(account)


@pytest.mark.parametrize(
    "values", [np.array([np.nan, np.inf, 1e308, -1e308]), np.zeros((0, 3)), np.array(["a"]), np.array(5.0)]
)
def test_any_submission_of_a_stranger_makes_a_page(values, tmp_path):
    assert "Submission 1" in page(run_folder(tmp_path, values=values))


def test_a_damaged_log_or_conversation_is_said(tmp_path):
    folder = run_folder(tmp_path, turns("a"))
    (folder / "trajectory.json").write_text("{}")
    (folder / "log.jsonl").write_text("[")
    made = page(folder)
    assert "not a trajectory" in made
    assert "log.jsonl cannot be read" in made


def test_weights_stay_until_others_are_given_and_orders_add_up():
    order = {"symbol": "a", "quantity": 2}
    actions = [
        {"weights": [0.5, 0.5]}, None, {"weights": "what"},
        {"orders": [order | {"side": "buy"}, order | {"side": "buy"}]}, {"orders": [order | {"side": "sell"}]},
    ]  # fmt: skip
    found = dict(decided(("a", "b"), 6, actions))
    assert found["Weights"].tolist() == [[0.5, 0.5]] * 6
    assert found["Shares ordered"].tolist() == [[0, 0]] * 3 + [[4, 0]] + [[2, 0]] * 2


def test_pages_of_many_runs_have_an_index_with_relative_links(tmp_path):
    runs = [scored(0.5), scored(0.5, attempt=1), failed("rejected", reason="<b>why", task="../../a task")]
    names = page_names([*runs, runs[0]])
    assert len({name.casefold() for name in names}) == 4
    assert all(re.fullmatch(r"[a-z0-9._-]+\.html", name) and not name.startswith(".") for name in names)
    found = [(write_run(tmp_path / "runs", run, RunFiles({}, "", b"", [], {})).path, run) for run in runs]
    index = write_pages(tmp_path / "pages", found)
    moved = index.parent.rename(tmp_path / "moved")
    text = (moved / index.name).read_text()
    links = re.findall(r'href="([^"]+)"', text)
    assert set(links) == set(names[:3])
    for link in links:
        assert f'href="{index.name}"' in (moved / link).read_text()
    assert links[0] == names[2], "what failed comes first"
    assert "&lt;b&gt;why" in text
