"""Definitions of series: what the library brings, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import DataError, UsageError
from openfingym.questions import Question, moment_ns, utc_text
from openfingym.questions.providers import find_provider
from openfingym.rounds.generator import Round, generate
from openfingym.rounds.series import Series, find_definition
from tests.openfingym.rounds.definitions import definition

PLAIN = definition("mine", title="Mine", timezone="UTC", start="2026-11-01T00:00:00Z")


def read(folder: Path, text: str) -> Series:
    path = folder / "mine.toml"
    path.write_text(text)
    return Series.read(path)


def made(series: Series, at: str, price: float | None = 101.25) -> list[Question]:
    """The questions of the round whose generation is at a moment."""
    [times] = series.schedule.rounds(series.zone, moment_ns(at), moment_ns(at))
    found = []
    for name, source in series.asked.items():
        one = Round(series, name, times, times.generated_ns, lambda _: None if price is None else {"price": price})
        found += generate(one, source.generator, source.options)
    return found


@pytest.mark.parametrize("name", ["weekly", "weekly-real"])
def test_what_the_library_brings_asks_sound_questions(name: str) -> None:
    series = Series.read(find_definition(name))
    found = made(series, "2026-11-26T00:00:00Z")

    assert len({one.id for one in found}) == len(found) >= 30
    assert {one.round for one in found} == {f"{name}/2026-W48"}
    assert {utc_text(one.deadline_ns) for one in found} == {"2026-11-29T15:59:00Z"}
    assert all(utc_text(one.evaluation_ns).endswith("T01:00:00Z") for one in found)  # Monday 09:00 in Singapore
    simulated = name == "weekly"
    assert {one.clock for one in found} == {name if simulated else "real"}
    assert all(one.text.startswith("SIMULATED: ") == simulated for one in found)
    assert len({one.category for one in found}) >= 3
    if simulated:
        assert {one.market for one in found} == {"US", "CN", "DE", "JP"}
        weeks = {round((one.evaluation_ns - one.generated_ns) / 6.048e14) for one in found}
        assert weeks == {2, 5, 14}  # a week, a month, a quarter; each until the next Monday


def test_the_level_that_a_price_is_to_be_above_is_what_the_market_shows(tmp_path: Path) -> None:
    symbol = 'symbols = [{ name = "X", unit = "USD" }]\nforms = ["probability"]'
    series = read(tmp_path, PLAIN.replace('events = ["Does it rain"]', symbol))
    [one] = made(series, "2026-11-26T08:00:00Z", price=101.2543219)

    assert one.query["above"] == 101.254
    assert "above 101.254 USD" in one.text
    assert not one.unit
    with pytest.raises(DataError, match="shows no number now"):
        made(series, "2026-11-26T08:00:00Z", price=None)


@pytest.mark.parametrize(
    ("generation", "wanted"),
    [
        # The deadline is 2026-11-29: November's figure comes after it, from 1 December on.
        ("2026-11-26T00:00:00Z", {"2026-11-01"}),
        # 2026-12-06: November's may have come on the 2nd, so December's; January's is too far away.
        ("2026-12-03T00:00:00Z", {"2026-12-01"}),
        ("2026-12-31T00:00:00Z", {"2027-01-01"}),
    ],
)
def test_no_figure_is_asked_for_that_may_be_known_before_the_deadline(generation: str, wanted: set[str]) -> None:
    series = Series.read(find_definition("weekly-real"))
    found = [one for one in made(series, generation) if "unrate" in one.id]

    assert {one.id.split("/unrate-")[1][:10] for one in found} == wanted


def test_a_day_without_business_has_no_yield() -> None:
    series = Series.read(find_definition("weekly-real"))
    found = {one.id.split("/10y-")[1][:10] for one in made(series, "2026-11-26T00:00:00Z") if "/10y-" in one.id}

    assert found == {"2026-12-01"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"Thursday 08:00"', '"Thursday at 8"', "schedule.generate: expected a day of the week and a time"),
        ('"UTC"', '"Mars/Olympus"', "timezone: there is no time zone 'Mars/Olympus'"),
        ('"mine"', '"My rounds"', "name: expected 1 to 40 lower-case letters"),
        ('"mine"', '"real"', "name: expected .* not 'real'"),
        ("2026-11-01T00:00:00Z", "2026-11-01T00:00:00", "start: .* has no time zone"),
        ("start = 2026-11-01T00:00:00Z", "", "start: a simulated clock begins somewhere"),
        ('"simulated"\ntimezone', '"wall"\ntimezone', "clock: "),
        ("publish =", "publsh =", "schedule.publsh: unknown key; did you mean 'publish'"),
        (
            'generator = "simulated"',
            'generator = "oracle"',
            r"sources\[0\]: there is no generator 'oracle'; known: prices",
        ),
        ('events = ["Does it rain"]', "", r"sources\[0\]: needs some of events, contests and symbols"),
        ("horizons_days = [7]", "horizons_days = [0]", r"sources\[0\]: horizons_days\[0\]: "),
        ('category = "events"', "", r"sources\[0\]: category: required"),
        ('clock = "simulated"', 'clock = "real"', r"sources\[0\]: the generator 'simulated' makes up its truths"),
        ('market = "US"', 'market = "US"\nsymbls = []', r"sources\[0\]: symbls: unknown key; did you mean 'symbols'"),
    ],
)
def test_a_definition_is_refused_with_the_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in PLAIN
    with pytest.raises(UsageError, match=message) as caught:
        read(tmp_path, PLAIN.replace(old, new))
    assert "mine.toml" in str(caught.value)


def test_two_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    source = PLAIN[PLAIN.index("[[sources]]") :]
    with pytest.raises(UsageError, match=r"sources\[1\]: name: there is another source 'simulated'"):
        read(tmp_path, PLAIN + source)
    assert len(read(tmp_path, PLAIN + source + 'name = "other"').asked) == 2


def test_an_unknown_definition_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"it has findeepforecast, findeepforecast-real, .*weekly, weekly-real"):
        find_definition("monthly")


OWN = """
from openfingym.rounds import Options

class Own:
    options = Options
    def make(self, one, options):
        return [one.question({key}, text="Does it?", form="probability", settled_ns=one.after(14), provider="manual",
                             category=options.category, market=options.market){more}]

GENERATOR = Own()
"""


def own(folder: Path, **changes: Any) -> list[Question]:
    (folder / "strikes.py").write_text(OWN.format(**{"key": "'strike'", "more": ""} | changes))
    text = PLAIN.replace('"simulated"\ncategory', '"strikes.py"\ncategory').replace("horizons_days = [7]\n", "")
    return made(read(folder, text.replace('events = ["Does it rain"]', "")), "2026-11-26T08:00:00Z")


def test_a_python_file_is_a_generator(tmp_path: Path) -> None:
    [one] = own(tmp_path)

    assert one.id == "mine/2026-W48/strikes/strike"
    assert utc_text(one.evaluation_ns) == "2026-12-14T09:00:00Z"  # the first Monday after two weeks


def test_what_a_generator_gives_is_checked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the generator of 'strikes' gave 'no question'"):
        own(tmp_path, more=", 'no question'")
    with pytest.raises(UsageError, match="the generator of 'strikes' failed: ZeroDivisionError"):
        own(tmp_path, key="1 / 0")
    with pytest.raises(UsageError, match="no question of mine/2026-W48"):
        own(
            tmp_path,
            more=", __import__('dataclasses').replace(one.question('b', text='?', form='probability', "
            "settled_ns=0, provider='manual'), deadline_ns=one.now_ns + 1)",
        )
    with pytest.raises(UsageError, match=r"gave mine/2026-W48/strikes/strike twice"):
        own(tmp_path, more="] * 2 + [")


@pytest.mark.parametrize("name", ["weekly", "weekly-real"])
def test_providers_can_resolve_what_is_asked(name: str) -> None:
    providers = {one: find_provider(one, b"a secret") for one in ("simulated", "price", "release")}
    asked = made(Series.read(find_definition(name)), "2026-11-26T00:00:00Z")
    for question in asked:
        providers[question.provider].check(question)

    assert {one.provider for one in asked} == ({"simulated"} if name == "weekly" else {"price", "release"})
    for provider in providers.values():
        provider.close()
