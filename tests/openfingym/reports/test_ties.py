"""Letters of rows that were not told apart: two rows share one if and only if they do not differ."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from openfingym.reports.report import make_report
from openfingym.reports.tables import SKILL_NOTE, TIES, skill_table
from openfingym.reports.ties import letters, ties_of, told_apart
from tests.openfingym.reports.made import failed, runs, scored, three_agents

ROWS = [(f"row {n}",) for n in range(30)]


def groups(text):
    """The letters of a row: each is a letter, with the number of its turn through the alphabet from the second on."""
    return set(st_split(text))


def st_split(text):
    place = 0
    while place < len(text):
        end = place + 1
        while end < len(text) and text[end].isdigit():
            end += 1
        yield text[place:end]
        place = end


@given(st.integers(2, 9), st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8))))
def test_a_letter_is_shared_if_and_only_if_two_rows_do_not_differ(count, pairs):
    rows = ROWS[:count]
    differing = {frozenset((ROWS[a], ROWS[b])) for a, b in pairs if a != b and max(a, b) < count}
    found = letters(rows, sorted(differing, key=sorted))
    assert list(found) == rows
    assert all(found.values())
    for a, b in itertools.combinations(rows, 2):
        assert bool(groups(found[a]) & groups(found[b])) == (frozenset((a, b)) not in differing)
    # No letter says what another one says, and the best row has the first.
    members = {}
    for row, text in found.items():
        for one in groups(text):
            members.setdefault(one, set()).add(row)
    assert not [1 for a, b in itertools.permutations(members.values(), 2) if a <= b]
    assert "a" in groups(found[rows[0]])


def test_after_z_letters_have_numbers():
    rows = ROWS
    differing = [frozenset(pair) for pair in itertools.combinations(rows, 2)]
    found = letters(rows, differing)
    assert [found[rows[n]] for n in (0, 25, 26, 29)] == ["a", "z", "a2", "d2"]
    assert letters([], []) == {}


def test_the_classic_example_overlaps():
    a, b, c = ROWS[:3]
    assert letters([a, b, c], [frozenset((a, c))]) == {a: "a", b: "ab", c: "b"}


def test_rows_that_no_comparison_can_judge_have_no_letter_and_do_not_stand_out():
    report = make_report(
        runs(*three_agents(), scored(0.5, agent="alone"), failed("rejected", agent="never")), ("agent",)
    )
    ties = ties_of(report, "real", [("good",), ("equal",), ("bad",), ("alone",), ("never",)])
    assert ties == {("good",): "a", ("equal",): "a", ("bad",): "b"}
    assert told_apart(ties)
    table = skill_table(report, "real")
    shown = {row[0]: row[table.columns.index(TIES)] for row in table.rows}
    assert shown == {"good": "a", "equal": "a", "bad": "b", "alone": "-", "never": "-"}
    assert {table.rows[place][0] for place in table.strong} == {"good", "equal"}
    assert "share a letter" in SKILL_NOTE


def test_each_kind_of_data_has_letters_of_its_own():
    # On simulated data the same rows have changed places.
    names = {"good": "bad", "bad": "equal", "equal": "good"}
    other = [replace(run, agent=names[run.agent], data_kind="simulated") for run in three_agents()]
    report = make_report(runs(*three_agents(), *other), ("agent",))
    assert ties_of(report, "real", [("good",), ("equal",), ("bad",)]) == {
        ("good",): "a",
        ("equal",): "a",
        ("bad",): "b",
    }
    assert ties_of(report, "simulated", [("bad",), ("good",), ("equal",)]) == {
        ("bad",): "a",
        ("good",): "a",
        ("equal",): "b",
    }


def test_where_all_are_tied_nothing_stands_out():
    report = make_report(runs(*(run for run in three_agents() if run.agent != "bad")), ("agent",))
    assert ties_of(report, "real", [("good",), ("equal",)]) == {("good",): "a", ("equal",): "a"}
    assert not skill_table(report, "real").strong


def test_letters_stand_in_the_rows_over_all_tasks_alone():
    found = runs(*three_agents(), *(scored(0.5, agent=agent, task="amazon-fraud") for agent in ("good", "bad")))
    table = skill_table(make_report(found, ("agent",)), "real")
    place = table.columns.index(TIES)
    assert {row[1]: bool(row[place]) for row in table.rows} == {"forecasting": False, "fraud": False, "all tasks": True}
