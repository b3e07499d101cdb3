"""Moments of a schedule, in any zone and any year."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.questions.question import moment_ns, utc_text
from openfingym.rounds.schedule import WEEKDAYS, Schedule, WeeklyTime, week_of

WEEKLY = Schedule.model_validate(
    {
        "generate": "Thursday 08:00",
        "deadline": "Sunday 23:59",
        "resolve": "Monday 09:00",
        "publish": "Monday 12:00",
    }
)
SINGAPORE = ZoneInfo("Asia/Singapore")

# With summer time in both hemispheres, of half an hour, of a negative hour; with days that never were or came twice.
zones = st.sampled_from(
    [
        "UTC",
        "Asia/Singapore",
        "America/New_York",
        "Europe/Dublin",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Pacific/Kwajalein",
        "Africa/Casablanca",
        "America/Godthab",
        "Asia/Kathmandu",
    ]
).map(ZoneInfo)
times = st.builds(
    lambda day, minute: f"{day} {minute // 60:02d}:{minute % 60:02d}", st.sampled_from(WEEKDAYS), st.integers(0, 1439)
)
schedules = st.fixed_dictionaries(dict.fromkeys(("generate", "deadline", "resolve", "publish"), times)).map(
    Schedule.model_validate
)
_times = st.datetimes(datetime(1990, 1, 1), datetime(2035, 1, 1))  # noqa: DTZ001
moments = _times.map(lambda at: moment_ns(at.replace(tzinfo=UTC)))
DAY = 86_400 * 10**9


def test_the_weekly_clock_of_findeepforecast() -> None:
    [one] = WEEKLY.rounds(SINGAPORE, moment_ns("2026-11-26T00:00:00Z"), moment_ns("2026-11-26T00:00:00Z"))

    assert one.week == "2026-W48"
    found = [one.generated_ns, one.deadline_ns, one.resolved_ns, one.published_ns]
    assert list(map(utc_text, found)) == [
        "2026-11-26T00:00:00Z",
        "2026-11-29T15:59:00Z",
        "2026-11-30T01:00:00Z",
        "2026-11-30T04:00:00Z",
    ]
    assert WEEKLY.void_after_days == 14


def test_a_year_of_53_weeks_has_as_many_rounds() -> None:
    found = [
        one.week
        for one in WEEKLY.rounds(SINGAPORE, moment_ns("2026-01-01T00:00:00Z"), moment_ns("2026-12-31T23:00:00Z"))
    ]

    assert len(found) == 53
    assert found[0] == "2026-W01"
    assert found[-1] == "2026-W53"
    assert week_of(date(2027, 1, 1)) == "2026-W53"


def test_a_time_that_the_clock_skips_is_meant_as_if_it_had_not_been_set() -> None:
    new_york = ZoneInfo("America/New_York")
    at = WeeklyTime.parse("Sunday 02:30")

    # On 2026-03-08 the clock goes from 02:00 to 03:00; on 2026-11-01 it shows 01:00 to 02:00 twice.
    assert utc_text(at.first(new_york, moment_ns("2026-03-05T00:00:00Z"))) == "2026-03-08T07:30:00Z"
    at = WeeklyTime.parse("Sunday 01:30")
    assert utc_text(at.first(new_york, moment_ns("2026-10-30T00:00:00Z"))) == "2026-11-01T05:30:00Z"


def test_local_times_follow_summer_time() -> None:
    new_york = ZoneInfo("America/New_York")
    found = [
        utc_text(one.generated_ns)[11:]
        for one in WEEKLY.rounds(new_york, moment_ns("2026-10-25T00:00:00Z"), moment_ns("2026-11-10T00:00:00Z"))
    ]

    assert found == ["12:00:00Z", "13:00:00Z"]


@settings(deadline=None, max_examples=60)
@given(zones, schedules, moments, st.integers(0, 60))
def test_each_round_is_in_order_and_named_once(zone: ZoneInfo, schedule: Schedule, since: int, days: int) -> None:
    until = since + days * DAY
    found = list(schedule.rounds(zone, since, until))

    for one in found:
        assert since <= one.generated_ns <= until
        assert one.generated_ns < one.deadline_ns < one.resolved_ns <= one.published_ns
        evaluation = schedule.evaluation(zone, one.deadline_ns, one.generated_ns + days * DAY)
        assert evaluation >= max(one.resolved_ns, one.generated_ns + days * DAY)
    assert len({one.week for one in found}) == len(found)
    assert [one.generated_ns for one in found] == sorted({one.generated_ns for one in found})
    assert abs(len(found) - days / 7) <= 1.2


@settings(deadline=None, max_examples=40)
@given(zones, schedules, moments, st.lists(st.integers(0, 20 * 24 * 3600), min_size=1, max_size=12))
def test_rounds_do_not_depend_on_when_one_looks(
    zone: ZoneInfo, schedule: Schedule, since: int, steps: list[int]
) -> None:
    found, now, last = [], since, since
    for step in steps:
        now += step * 10**9
        found += list(schedule.rounds(zone, last, now))
        last = now + 1

    assert found == list(schedule.rounds(zone, since, now))


@settings(deadline=None, max_examples=60)
@given(zones, schedules, moments, st.integers(0, 40))
def test_moments_have_every_time_at_which_something_is_due(
    zone: ZoneInfo, schedule: Schedule, since: int, days: int
) -> None:
    until = since + days * DAY
    found = schedule.moments(zone, since, until)

    assert found == sorted(set(found))
    assert all(since < one <= until for one in found)
    for one in schedule.rounds(zone, since + 1, until):
        wanted = {one.generated_ns, one.deadline_ns, one.resolved_ns, one.published_ns}
        assert {moment for moment in wanted if moment <= until} <= {*found}


@pytest.mark.parametrize("text", ["Thursday", "Thu 08:00", "Thursday 24:00", "Thursday 8:00", "Thursday 08:60", 8, ""])
def test_a_time_of_another_form_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="a day of the week and a time"):
        WeeklyTime.parse(text)


def test_a_time_is_written_as_it_is_read() -> None:
    assert str(WeeklyTime.parse("sunday 23:59")) == "Sunday 23:59"
