"""The pool of questions: its composition, its variety, and its proofs on the tables that every machine has."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from openfingym.answers import decide
from openfingym.answers.guide import lint
from openfingym.answers.packing import unpack
from openfingym.cli import cli
from openfingym.suites.registry import find_suite
from openfingym.vault import Vault
from openfingym_suites.finsearch.questions.composition import COMPOSITION, TURN, compose
from openfingym_suites.finsearch.questions.drawing import SkipError
from openfingym_suites.finsearch.questions.masks import masked, without_names
from openfingym_suites.finsearch.questions.pool import LIKE, unique
from openfingym_suites.finsearch.questions.pool_file import stored_pool
from openfingym_suites.finsearch.questions.problem import SearchProblem, situation
from openfingym_suites.finsearch.questions.program_text import script_of
from openfingym_suites.finsearch.questions.sources import VaultSources, Vintage

POOL = stored_pool().problems


@pytest.fixture(scope="module")
def bundled() -> Vault:
    return Vault.open("bundled")


def test_the_set_has_the_papers_composition_and_the_pool_is_mostly_real() -> None:
    parts = compose(list(POOL))

    assert Counter((one.subset, one.tier) for one in parts["private"]) == COMPOSITION
    assert sum(COMPOSITION.values()) == len(parts["private"]) == 635
    assert len(POOL) >= 1000
    assert sum(one.real for one in POOL) >= len(POOL) / 2
    assert len({one.topic for one in parts["private"]}) == 10
    assert len({one.question.id for one in POOL}) == len(POOL) == sum(map(len, parts.values()))
    languages = Counter(one.language for one in parts["private"] if one.subset == "greater-china")
    assert min(languages.values()) > 50


def test_the_guide_has_nothing_against_any_question() -> None:
    found = {one.question.text: lint(one.question.text, one.reference) for one in POOL}
    assert {text: findings for text, findings in found.items() if findings} == {}


def test_no_revision_depends_on_the_prices_that_a_vintage_is_in() -> None:
    """A vintage in prices of another year has all levels times a number, and the same growth."""

    def told(one: SearchProblem, factor: float) -> tuple[float, ...]:
        period, base = one.params["period"], one.params["base"]
        values = {period: (103.0, 105.0 * factor), base: (100.0, 101.0 * factor)}
        vintages = {
            each: [Vintage("2020-03-01", old), Vintage("2022-03-01", new)] for each, (old, new) in values.items()
        }
        vintages[base].insert(0, Vintage("2019-12-01", 90.0))
        latest = [(each, known[-1].value) for each, known in vintages.items()]
        sources: Any = SimpleNamespace(points=lambda _: latest, vintages=lambda _, each: vintages[each])
        return tuple(one.program(sources, one.params))

    revisions = [one for one in POOL if one.sources == ("gdp",) and "been revised" in one.question.text]
    assert len(revisions) == 8
    for one in revisions:
        assert told(one, 1.0) == pytest.approx((100.0 * (105.0 / 101.0 - 1.03),))
        assert told(one, 1.27) == pytest.approx(told(one, 1.0))


def test_what_an_answer_is_depends_on_its_question_and_a_right_one_is_read() -> None:
    suite = find_suite("finsearch")
    for one in compose(list(POOL))["private"][:40]:
        form = suite.question_form(one.question, {"tools": "full"})
        assert one.reference.columns[0].name in form.expected or len(one.reference.columns) == 1
        assert decide(one.reference, unpack(form.read(one.reference.answer()))).outcome == "right"


def test_no_answer_that_is_given_was_unknown_when_the_first_question_that_counts_is_asked() -> None:
    parts = compose(list(POOL))
    given = [one.question.as_of for part in ("train", "public") for one in parts[part]]

    assert max(given) < TURN <= min(one.question.as_of for one in parts["private"])


def test_no_two_questions_differ_by_names_alone_and_few_by_names_dates_and_numbers() -> None:
    named = Counter(
        without_names(one.question.text, one.names) + (situation(one.question.as_of) if one.tier == "T1" else "")
        for one in POOL
    )
    like = Counter(masked(one.question.text, one.names) for one in POOL)

    assert max(named.values()) == 1
    assert max(like.values()) <= LIKE
    assert len(like) > len(POOL) / 4
    assert len({one.template for one in POOL}) > 120


def test_masks_leave_nothing_of_names_dates_and_numbers() -> None:
    assert masked("On May 3, 2020, EUR/USD was 1.08.", ["EUR/USD"]) == masked(
        "On June 9, 2021, GBP/USD was 1.3.", ["GBP/USD"]
    )
    assert masked("2020年5月3日，美元兑日元是多少？", ["美元", "日元"]) == masked(
        "2019年12月1日，欧元兑英镑是多少？", ["欧元", "英镑"]
    )
    assert masked("the highest of 5 days", []) != masked("the lowest of 5 days", [])


def test_programs_give_the_same_answers_on_real_tables_again(bundled: Vault) -> None:
    real = [one for one in POOL if one.real and one.template != "share-over-split"][::25]

    assert len(real) > 30
    for one in real:
        assert one.computed(VaultSources(bundled, one.question.as_of)).to_json() == one.reference.to_json(), (
            one.question.id
        )


def test_no_program_sees_what_became_known_later(bundled: Vault, tmp_path_factory: pytest.TempPathFactory) -> None:
    time = "2016-12-31T00:00:00+00:00"
    before = [
        one for one in POOL if one.real and "2015" < one.question.as_of <= time and one.template != "share-over-split"
    ]
    cut = bundled.truncated(time, tmp_path_factory.mktemp("cut") / "vault")

    assert len(before) > 30
    for one in before[::8]:
        assert one.computed(VaultSources(cut, one.question.as_of)).to_json() == one.reference.to_json(), one.question.id


def test_other_readings_have_other_answers_and_rules_tell(bundled: Vault) -> None:
    for one in [one for one in POOL if one.real and one.template != "share-over-split"][4::45]:
        sources = VaultSources(bundled, one.question.as_of)
        others = [one.other(sources, name) for name in one.alternatives]
        told = [other for other in others if other != one.reference.answer()]
        assert told, one.question.id
        assert {decide(one.reference, other).outcome for other in told} == {"wrong"}, one.question.id
        assert decide(one.reference, one.reference.answer()).outcome == "right"


def test_a_question_whose_other_reading_is_as_right_is_refused(bundled: Vault) -> None:
    one = next(one for one in POOL if one.template == "fx-latest-change")
    sources = VaultSources(bundled, one.question.as_of)
    value = one.program(sources, one.params)[0]
    near = replace(one, alternatives={"another source": (lambda _w, _p: (value + 0.01,), {})})
    same = replace(one, alternatives={"the same": (one.program, one.params)})

    with pytest.raises(SkipError, match="another source"):
        unique(near, one.reference, sources)
    with pytest.raises(SkipError, match="no other reading"):
        unique(same, one.reference, sources)


def test_the_program_that_is_shown_runs_by_itself(
    bundled: Vault, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("openfingym_suites.finsearch.world.finsearch_vault", lambda: bundled, raising=False)
    shown = {one.program: one for one in POOL if one.real and one.template != "share-over-split"}

    assert len(shown) > 50
    for one in list(shown.values())[::5]:
        exec(compile(script_of(one, "0" * 12), one.question.id, "exec"), {})
        printed = capsys.readouterr().out.strip()
        assert printed == str(one.program(VaultSources(bundled, one.question.as_of), one.params)), one.question.id


def test_the_command_lists_and_shows_questions() -> None:
    run = CliRunner().invoke

    listed = run(cli, ["questions", "list", "finsearch", "--tier", "T3", "--tag", "greater-china"])
    assert listed.exit_code == 0
    assert "87 questions" in listed.output
    shown = run(cli, ["questions", "show", "finsearch", "635", "--with-program"])
    assert "finsearch_vault()" in shown.output
    assert "answer: " in shown.output
    assert "1 to 635" in str(run(cli, ["questions", "show", "finsearch", "636"]).exception)
    assert "known: " in str(run(cli, ["questions", "list", "finsearch", "--tier", "T4"]).exception)
    assert "keeps no questions" in str(run(cli, ["questions", "list", "mirai"]).exception)


def test_days_of_a_table_are_in_order() -> None:
    rows = [one.reference.rows for one in POOL if one.template.endswith("large-days")]

    assert rows
    for table in rows:
        assert all(str(one[0].value) < str(other[0].value) for one, other in pairwise(table))


def test_asking_loads_nothing_of_what_draws_questions() -> None:
    program = (
        "import sys; from openfingym_suites.finsearch import SUITE; SUITE.questions('finsearch', SUITE.options({}));"
        "print([name for name in sys.modules if name.startswith('openfingym_suites.finsearch.questions.templates')])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
