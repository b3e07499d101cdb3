"""The page: what it shows, that it is harmless, and that a real browser lays it out."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from openfingym.reports.cells import task_cells_of
from openfingym.reports.charts import Scale
from openfingym.reports.figures import cost_scatter, forest, heat_map, ruler
from openfingym.reports.formatting import penalized
from openfingym.reports.groups import grouped
from openfingym.reports.html import render
from openfingym.reports.report import make_report
from openfingym.reports.runs import DamagedRun, FoundRuns
from openfingym.reports.tables import DAMAGED
from tests.openfingym.reports.browser import opened
from tests.openfingym.reports.made import APART, HOSTILE, OWN_DATA, failed, runs, scored, three_agents

TASKS = list(OWN_DATA)


def two(kind="real"):
    shared = {"model": "m", "data_kind": kind}
    good = [scored(0.5 + 0.02 * n, agent="good", task=task, cost_usd=0.02, **shared) for n, task in enumerate(TASKS)]
    return [*good, *(scored(2.0, agent="bad", task=task, cost_usd=0.2, **shared) for task in TASKS)]


def parsed(page):
    """The page as a tree, without the contents of style; raises unless every element is closed."""
    assert page.startswith("<!DOCTYPE html>\n")
    return ET.fromstring(re.sub(r"(<style>).*?(</style>)", r"\1\2", page.partition("\n")[2], flags=re.DOTALL))


def fragment(html):
    return ET.fromstring(f"<main>{html}</main>")


def texts(node):
    return " ".join(" ".join(node.itertext()).split())


def test_each_kind_of_data_has_a_block_of_its_own():
    tree = parsed(render(make_report(runs(*two(), *two("simulated"), *two("odd")))))
    blocks = list(tree.iter("article"))
    assert [block[0].get("class") for block in blocks] == ["kind real", "kind simulated", "kind unknown"]
    assert "SIMULATED" in blocks[1][0].text
    for block, kind in zip(blocks, ("real", "simulated", "odd"), strict=True):
        assert f"on {kind} data" in texts(block)


def test_the_headline_has_skill_interval_and_success():
    report = make_report(runs(*two(), failed("rejected", agent="good", model="m")))
    table = next(node for node in parsed(render(report)).iter("table") if node.get("class") == "headline")
    rows = [texts(row) for row in table.iter("tr")]
    good = report.cells[1]
    assert (
        rows[1]
        == f"good / m {good.skill.value:+.3f} {good.skill.low:+.3f} to {good.skill.high:+.3f}, 7 tasks 86% of 7 scored"
        f"; penalized total {penalized(good)} a"
    )
    assert rows[2].startswith("bad / m −1.000")
    assert rows[0] == "forecasting ties"


def test_the_forest_draws_intervals_where_they_are():
    report = make_report(runs(*two()))
    tree = fragment(forest(report.cells))
    bad, good = (row.find("td/svg") for row in tree.iter("tr") if row.find("th").get("scope") == "row")
    assert (good.get("class"), bad.get("class")) == ("branch gain", "branch loss")
    skill = report.cells[1].skill
    ends = [float(good.find("line[@class='span']").get(name).rstrip("%")) for name in ("x1", "x2")]
    dot, zero = (
        float(good.find(where).get(name).rstrip("%"))
        for where, name in (("circle", "cx"), ("line[@class='base']", "x1"))
    )
    assert zero < ends[0] < dot < ends[1]
    # All on one linear scale.
    unit = (dot - zero) / skill.value
    assert ends == pytest.approx([zero + unit * skill.low, zero + unit * skill.high], abs=0.02)


def test_an_interval_that_goes_on_is_cut_and_its_numbers_stay():
    report = make_report(runs(*(scored(40.0 + n, task=task) for n, task in enumerate(TASKS))))
    tree = fragment(forest(report.cells))
    assert f"−{-report.cells[0].skill.value:.3f}" in texts(tree)
    assert tree.find(".//circle") is None
    assert forest(make_report(runs(scored(0.5))).cells) is None


def test_an_outlier_is_cut_off_and_said_and_does_not_squash_the_others():
    losses = {"a": 0.97, "b": 0.96, "c": 0.98, "d": 0.95, "out": 1.8}
    results = [
        scored(loss + 0.002 * n, agent=agent, task=task, cost_usd=0.01)
        for agent, loss in losses.items()
        for n, task in enumerate(TASKS)
    ]
    cells = [cell for cell in make_report(runs(*results)).cells if cell.family == "forecasting"]
    named = [(row.find("th"), row) for row in fragment(forest(cells)).iter("tr")]
    rows = {name.text: row for name, row in named if name.get("scope") == "row"}

    def place(agent, where, name):
        return float(rows[agent].find(where).get(name).rstrip("%"))

    # The others take up most of the axis.
    assert place("d", ".//circle", "cx") - place("d", ".//line[@class='base']", "x1") > 60.0
    assert rows["out"].find(".//circle") is None
    assert [row.find(".//svg[@class='beyond']") is not None for row in rows.values()] == [
        agent == "out" for agent in rows
    ]
    assert "−0.805" in texts(rows["out"])
    assert "6/6 scored" in texts(rows["out"])
    points = fragment(cost_scatter(cells)).iter("g")
    assert [texts(point) for point in points if point.find("text[@dx]") is not None] == [
        "out: $0.0100 a success, skill -0.805 5 ↓ −0.805"
    ]
    # Where the rows are as far from each other, all are drawn: none is an outlier.
    wide = [scored(loss, agent=str(loss), task=task) for loss in (0.2, 0.6, 1.0, 1.4, 1.8) for task in TASKS]
    assert 'class="beyond"' not in str(forest(make_report(runs(*wide)).cells))


def test_round_values_of_the_ruler_are_what_they_say():
    cells = make_report(runs(*(scored(1.9 + 0.02 * n, task=task) for n, task in enumerate(TASKS)))).cells
    labels = [node.text for node in fragment(forest(cells)).find(".//svg[@class='ruler']").iter("text")]
    assert labels == ["−1.00", "−0.50", "0.00"]


def test_a_narrow_ruler_has_fewer_values_and_zero_among_them():
    scale = Scale.around([np.array([-0.21, 0.39])], zero=True)
    values, _ = scale.ticks()
    assert [round(value, 9) for value in values] == [-0.2, 0.0, 0.2, 0.4]
    assert [(text, minor) for _, text, minor in ruler(scale)] == [
        ("\N{MINUS SIGN}0.2", True),
        ("0.0", False),
        ("0.2", True),
        ("0.4", False),
    ]


def test_long_tables_are_folded_and_the_menu_leads_everywhere():
    many = [scored(0.9, agent=f"agent {n:02}", task=task) for n in range(25) for task in TASKS]
    found = runs(*many, failed("rejected", agent="agent 00"), *two("simulated"))
    tree = parsed(render(make_report(found), found.results))
    links = {node.get("href").removeprefix("#") for node in tree.iter("a")}
    anchors = {node.get("id"): node for node in tree.iter() if node.get("id")}
    assert set(anchors) - links == {"skill-1", "skill-2"}
    assert not links - set(anchors)
    assert [texts(node) for node in anchors["skill-1"].iter("summary")] == ["5 more rows", "What the figures mean"]
    assert [texts(node) for node in anchors["paper-1"].iter("summary")] == ["25 rows"]
    assert not list(anchors["paper-2"].iter("summary"))
    assert texts(anchors["failed"]).startswith("Failed runs state task run rejected")


def test_the_heat_map_tints_half_and_twice_the_loss_alike():
    losses = {"fx-forecast-v2": 0.5, "fx-forecast-v3": 2.0, "fx-forecast-v4": 1.001, "fx-forecast-v5": 0.8}
    results = [scored(loss, task=task) for task, loss in losses.items()]
    (group,) = grouped(
        [*results, failed("rejected", task="fx-forecast-v6"), failed("error", task="fx-forecast-v7")], ("agent",)
    )
    cells = task_cells_of(group, dict.fromkeys(group.tasks, "forecasting"))
    body = fragment(heat_map(cells, [("ridge",), ("gone",)])).find(".//tbody")
    rows = {row.find("th").text: row.findall("td") for row in body if row.find("td") is not None}
    found = {task: (tiles[0].get("class"), tiles[0].text) for task, tiles in rows.items()}
    assert found == {
        "fx-forecast-v2": ("gain-4", "0.50"),
        "fx-forecast-v3": ("loss-4", "−1.00"),
        "fx-forecast-v4": (None, "0.00"),
        "fx-forecast-v5": ("gain-2", "0.20"),
        "fx-forecast-v6": ("never", "×"),
        "fx-forecast-v7": ("never", "–"),
    }
    assert all(tiles[1].text is None for tiles in rows.values())


def test_the_scatter_places_a_tenfold_cost_on_a_logarithmic_axis():
    report = make_report(runs(*two()))
    tree = fragment(cost_scatter(report.cells))
    bad, good = (next(g.iter("circle")) for g in tree.iter("g"))
    ticks = {
        node.text: float(node.get("x").rstrip("%"))
        for node in tree.iter("text")
        if node.get("class", "").startswith("x")
    }
    x = {name: float(node.get("cx").rstrip("%")) for name, node in (("bad", bad), ("good", good))}
    assert x["good"] == pytest.approx(ticks["$0.0200"], abs=0.01)
    assert x["bad"] == pytest.approx(ticks["$0.200"], abs=0.01)
    scale = Scale.around([np.array([cell.skill.value for cell in report.cells])], zero=True)
    assert float(good.get("cy").rstrip("%")) == pytest.approx(scale.percent(report.cells[1].skill.value), abs=0.01)


def test_without_prices_time_stands_for_cost_and_without_skill_there_is_no_scatter():
    cells = make_report(runs(*(scored(0.5, agent=agent, task=task) for task in TASKS for agent in ("a", "b")))).cells
    assert "Seconds a success" in cost_scatter(cells)
    # One point is no picture.
    assert cost_scatter(cells[:1]) is None
    assert cost_scatter(make_report(runs(scored(0.5), scored(0.5, agent="b"))).cells) is None


def test_damaged_runs_are_said_at_the_top():
    damaged = tuple(DamagedRun(Path(f"r{n}"), f"r{n}: {HOSTILE}") for n in range(DAMAGED + 3))
    tree = parsed(render(make_report(FoundRuns(tuple(two()), damaged))))
    assert f"{DAMAGED + 3} damaged runs are in no figure." in texts(next(tree.iter("header")))
    (reasons,) = (node for node in tree.iter("section") if node.get("id") == "damaged")
    assert f"r0: {HOSTILE}" in texts(reasons)
    assert "and 3 more" in texts(reasons)


FAMILIES = (*APART[:6], "crypto-generation", "ou-generation", "amazon-fraud", "yelpchi-fraud", "crypto-trading")
"""Tasks of four families."""


def test_the_first_thing_of_a_page_is_the_table_of_agents_over_all_tasks():
    found = runs(*three_agents(FAMILIES), failed("rejected", agent="good"))
    tree = parsed(render(make_report(found), found.results))
    order = [node.get("class") or node.get("id") for node in tree.iter() if node.tag in {"table", "section", "dl"}]
    assert next(name for name in order if name) == "headline"
    table = next(node for node in tree.iter("table") if node.get("class") == "headline")
    head = [texts(node) for node in table.find("thead/tr")]
    assert head == ["", "all tasks", "ties", "forecasting", "generation", "trading", "fraud"]
    # What is said before it takes no screen: the title, a sentence, and a link to the failed run.
    header = next(tree.iter("header"))
    assert [node.tag for node in header] == ["h1", "p", "nav"]
    assert [texts(node) for node in header.iter("a")] == ["1 failed run"]


def test_bold_is_what_the_legend_says():
    tree = parsed(render(make_report(runs(*three_agents(FAMILIES)))))
    rows = {
        texts(row.find("th")): (row.find("td/strong") is not None, texts(row.findall("td")[1]))
        for row in next(node for node in tree.iter("table") if node.get("class") == "headline").find("tbody")
    }
    assert rows == {"good": (True, "a"), "equal": (True, "a"), "bad": (False, "b")}
    assert "Bold: not told apart from the best." in texts(tree)
    # Where nobody was told apart, nobody stands out.
    alone = parsed(render(make_report(runs(*(run for run in three_agents(FAMILIES) if run.agent != "bad")))))
    assert not list(next(node for node in alone.iter("table") if node.get("class") == "headline").iter("strong"))
    assert "Bold" not in texts(alone)


def hostile():
    names = {"agent": HOSTILE, "model": HOSTILE, "data_kind": HOSTILE}
    mine = (scored(0.5, task=f"{HOSTILE}{n}", **names) for n in range(6))
    return make_report(runs(*mine, *two(), failed("rejected", reason=HOSTILE, **names)))


def test_names_are_text_and_nothing_is_loaded():
    page = render(hostile())
    tree = parsed(page)
    assert {node.tag for node in tree.iter()}.isdisjoint({"img", "iframe", "link", "object", "form", "b/", "script"})
    assert not re.search(r"https?:|@import|url\(", page)
    assert all(node.get("href", "#").startswith("#") and node.get("src") is None for node in tree.iter())
    policy = next(
        node.get("content") for node in tree.iter("meta") if node.get("http-equiv") == "Content-Security-Policy"
    )
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    assert (
        policy == "default-src 'none'; style-src "
        f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
    )
    assert HOSTILE in texts(tree)


def sized(page, folder, width):
    """The document that a browser makes of a page in a window of this width."""
    return opened(page, folder / f"{width}.html", f"--window-size={width},900")


def without_policy(page):
    """The page as a browser shows it that would run a script of ours."""
    return re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page)


def test_in_a_browser_all_columns_are_in_sight_and_no_two_labels_overlap(tmp_path):
    pages = [
        render(make_report(runs(*three_agents(FAMILIES, model="a-model-with-a-long-name")))),
        # A scale of small steps, whose labels are long.
        render(
            make_report(runs(*(scored(1.0 + 0.0004 * n, agent=a, task=t) for a in "ab" for n, t in enumerate(TASKS))))
        ),
    ]
    probe = """<script>
        const boxes = (nodes) => [...nodes].map((node) => node.getBoundingClientRect()).filter((box) => box.width);
        const over = [...document.querySelectorAll(".ruler")].flatMap((ruler) => {
            const all = boxes(ruler.querySelectorAll("text"));
            return all.filter((box, n) => n && box.left < all[n - 1].right + 1);
        });
        const table = document.querySelector(".headline").parentElement;
        const first = document.querySelector(".headline thead th").getBoundingClientRect();
        document.title = `${over.length} overlap, ${table.scrollWidth > table.clientWidth + 1 ? "cut" : "whole"}, `
            + (first.right <= innerWidth ? "seen" : "hidden") + `, ${document.querySelectorAll(".ruler").length > 0}`;
        </script>"""
    for page in pages:
        loose = without_policy(page).replace("</body>", f"{probe}</body>")
        assert "<title>0 overlap, whole, seen, true</title>" in sized(loose, tmp_path, 1300)
        assert re.search("<title>0 overlap, (cut|whole), seen, true</title>", sized(loose, tmp_path, 500))


def test_in_a_browser_no_script_runs_and_nothing_is_wider_than_the_window(tmp_path):
    page = render(make_report(runs(*two(), *two("simulated"), *two("specified"), failed("error", agent="a" * 80))))
    probe = """<script>document.title = [...document.querySelectorAll("main *")]
        .filter((node) => !node.closest(".scroll, svg")
        && node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
        .length + " too wide"</script>"""
    assert "too wide" not in sized(page.replace("</body>", f"{probe}</body>"), tmp_path, 500).replace(probe, "")
    # The style that the policy names is at work; another is not, even in the page itself.
    paint = """<style>h1 { display: none }</style><script>document.title =
        getComputedStyle(document.querySelector("h1")).display + " "
        + getComputedStyle(document.querySelector("h1")).fontSize</script>"""
    allowed = page.replace("style-src", "script-src 'unsafe-inline'; style-src").replace("</body>", f"{paint}</body>")
    assert "<title>block 28px</title>" in sized(allowed, tmp_path, 1200)
    loose = without_policy(page).replace("</body>", f"{probe}</body>")
    for width in (500, 1200):
        assert "<title>0 too wide</title>" in sized(loose, tmp_path, width)
