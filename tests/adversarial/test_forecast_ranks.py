"""Ways to stand higher among forecasters than one's forecasts deserve.

Attacks: leaving out hard questions or hard rounds, a lucky week, the same easy answer many times, many names of which
the luckiest is first, another's name to have or spoil its record.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.openfingym.reports.forecasts.made import Said, reported

WEEKS, QUESTIONS = 20, 12


def season(seed=0):
    """(week, question, chance, whether it came): half of a week is easy, and nothing of every third."""
    generator = np.random.default_rng(seed)
    for week in range(WEEKS):
        for number in range(QUESTIONS):
            easy = number % 2 == 0 and week % 3 != 2
            chance = float(generator.choice([0.04, 0.96] if easy else [0.35, 0.5, 0.65]))
            yield week, f"q{week}-{number}", chance, float(generator.random() < chance)


def by(agent, *, noise=0.05, where=lambda *_: True, seed=1, rounds=True, **more):
    """What an agent says that knows each chance but for noise, on the questions that it chooses."""
    generator = np.random.default_rng(seed)
    for week, question, chance, y in season():
        p = float(np.clip(chance + generator.normal(0.0, noise), 0.0, 1.0))
        if where(week, chance):
            yield Said(agent, question, p, y, round=f"r{week:02}" if rounds else "", week=week, **more)


def places(report):
    """Rank and adjusted loss by agent, and the mean loss of what it answered."""
    (track,) = report.tracks
    loss = {row.forecaster.agent: row.figures.loss for row in track.rows}
    return {
        one.forecaster.agent: (one.rank, one.adjusted.value, loss[one.forecaster.agent])
        for group in track.groups
        for one in group
    }


@pytest.mark.parametrize("rounds", [True, False])
def test_answering_what_is_easy_gains_no_rank(tmp_path, rounds):
    def easy(_, chance):
        return chance < 0.1 or chance > 0.9

    field = [*by("all", rounds=rounds), *by("other", rounds=rounds, seed=3)]
    found = places(reported(tmp_path, [*field, *by("easy", rounds=rounds, where=easy, seed=2)]))
    assert found["easy"][2] < 0.4 * found["all"][2]  # what the mean alone would say
    assert found["all"][0] == 1
    assert found["easy"][1] > found["all"][1] - 0.005


def test_staying_away_from_hard_rounds_gains_no_rank(tmp_path):
    said = [*by("all"), *by("other", seed=3), *by("away", where=lambda week, _: week % 3 != 2, seed=2)]
    found = places(reported(tmp_path, said))
    assert found["away"][2] < 0.9 * found["all"][2]
    assert found["all"][0] == 1
    assert found["away"][1] > found["all"][1] - 0.005


def test_leaving_out_what_one_does_not_know_counts_as_saying_nothing(tmp_path):
    silent = by("silent", where=lambda week, chance: abs(chance - 0.5) > 0.1)
    known = {question: abs(chance - 0.5) > 0.1 for _, question, chance, _ in season()}
    said_half = [one if known[one.question] else replace(one, p=0.5) for one in by("says-half")]
    found = places(reported(tmp_path, [*by("other", seed=3), *silent, *said_half]))
    assert found["silent"][:2] == (found["says-half"][0], pytest.approx(found["says-half"][1]))


def test_one_answer_a_round_does_not_stand_for_the_round(tmp_path):
    first = {}
    for week, question, _, _ in season():
        first.setdefault(week, question)
    sniper = [replace(one, p=one.y) for one in by("sniper") if first[one.week] == one.question]
    found = places(reported(tmp_path, [*by("all"), *sniper]))
    assert found["sniper"][2] == 0.0
    assert found["sniper"][1] > found["all"][1]


def test_repeating_an_easy_answer_counts_once(tmp_path):
    honest, other = list(by("all")), list(by("other", seed=3))
    easy = [one for one in honest if (one.p - one.y) ** 2 < 0.01]
    once = reported(tmp_path / "once", honest + other)
    often = reported(tmp_path / "often", honest + easy * 20 + other)
    assert often.attempts == 20 * len(easy)
    for before, after in zip(once.tracks[0].rows, often.tracks[0].rows, strict=True):
        assert after.figures.loss == pytest.approx(before.figures.loss)
        assert after.figures.questions == pytest.approx(before.figures.questions)
        assert after.calibration.ece == pytest.approx(before.calibration.ece)
    assert places(often)["all"] == pytest.approx(places(once)["all"])


def test_many_names_do_not_make_one_of_them_the_best(tmp_path):
    said = [*by("honest", noise=0.2, seed=7)]
    for number in range(25):
        said += by(f"twin-{number}", noise=0.2, seed=100 + number, principal="many")
    report = reported(tmp_path, said)
    found = places(report)
    assert min(adjusted for _, adjusted, _ in found.values()) < found["honest"][1]  # the luckiest of 26 is ahead
    assert found["honest"][0] == 1
    assert {row.forecaster.principal: row.entries for row in report.tracks[0].rows} == {"local": 1, "many": 25}
    assert "many takes part under 25 names" in report.html()


def test_a_name_is_not_spoiled_by_another_who_takes_it(tmp_path):
    honest, other = list(by("honest")), list(by("other", seed=3))
    alone = reported(tmp_path / "alone", honest + other)
    false = [replace(one, principal="rival", p=1.0 - one.y) for one in honest]
    report = reported(tmp_path / "spoiled", honest + other + false)
    mine = next(row for row in report.tracks[0].rows if row.forecaster == ("honest", "1", "local"))
    assert mine.figures == next(row for row in alone.tracks[0].rows if row.forecaster.agent == "honest").figures
    page = report.html()
    assert "honest of local" in page
    assert "honest of rival" in page


def test_a_short_lucky_run_has_no_rank(tmp_path):
    lucky = [replace(one, p=one.y) for one in by("lucky", where=lambda week, _: week < 5)]
    found = places(reported(tmp_path, [*by("all"), *by("other", seed=3), *lucky]))
    assert found["lucky"][0] is None
    assert found["all"][0] == 1


def test_certainty_that_was_wrong_costs_much_and_not_infinitely(tmp_path):
    said = [Said("sure", f"q{n}", float(n % 2), float(n % 3 == 0), week=n) for n in range(12)]
    report = reported(tmp_path, said)
    figures = report.tracks[0].rows[0].figures
    assert 0.0 < figures.log_score < -math.log(0.001)
    json.loads(report.to_json(), parse_constant=pytest.fail)
    assert report.tracks[0].rows[0].calibration.by_chance == 0.0


def test_names_are_text_wherever_they_are_shown(tmp_path):
    name = "</title><script>alert(1)</script>{{ 7 * 7 }}"
    said = [
        replace(one, category=name, version="<b>", round=f"{name}{one.round}") for one in by(name, principal='"><img>')
    ]
    said += [replace(one, version="2", category="other") for one in by(name, seed=2, rounds=False)]
    page = reported(tmp_path, said).html()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;/title&gt;&lt;script&gt;" in page
