"""Figures on the day of their release: which print decides, and what is kept beside it."""

from __future__ import annotations

import pytest

from openfingym.errors import DataError, UsageError, VenueError
from openfingym.questions import moment_ns
from openfingym.questions.providers.release import Releases
from tests.openfingym.questions.providers.questions import END, ask
from tests.openfingym.questions.providers.served import Raw

GDP = {"source": "fred", "series": "GDP", "period": "2026-07-01"}
TEN = {"source": "treasury", "series": "10y", "period": "2026-11-20"}
API = "/fred/series/observations"
GRAPH = "/graph/fredgraph.csv"
CURVES = "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/2026/all"


def releases(service, key=None):
    web = service.web
    return Releases(web, web, web, key)


def resolve(service, query, form="value", key=None):
    provider = releases(service, key)
    question = ask("release", query, form)
    provider.check(question)
    found = provider.answers([question], END)[question.id]
    provider.close()
    if isinstance(found, Exception):
        raise found
    return found


def observations(*rows):
    return {
        "observations": [
            {"realtime_start": start, "realtime_end": end, "date": "2026-07-01", "value": value}
            for start, end, value in rows
        ]
    }


THREE = observations(
    ("2026-11-25", "2026-12-22", "3.1"), ("2026-10-29", "2026-11-24", "2.8"), ("2026-12-23", "9999-12-31", "3.3")
)


def test_the_first_print_decides_and_later_ones_are_beside_it(service):
    service.answers[API] = THREE
    found = resolve(service, GDP, key="SECRET")
    assert (found.status, found.truth, found.vintage) == ("resolved", 2.8, "2026-10-29")
    assert found.provider_ns == moment_ns("2026-10-29T00:00:00Z")
    assert found.evidence["print"] == "1 of 3 known"
    assert [(one.vintage, one.truth) for one in found.later] == [("2026-11-25", 3.1), ("2026-12-23", 3.3)]
    assert resolve(service, {**GDP, "above": 3.0}, "probability", key="SECRET").truth == 0.0


def test_a_question_may_ask_for_the_latest_print(service):
    service.answers[API] = THREE
    found = resolve(service, {**GDP, "print": "latest"}, key="SECRET")
    assert (found.truth, found.vintage, found.later) == (3.3, "2026-12-23", ())


def test_the_key_is_in_the_request_and_nowhere_else(service):
    service.answers[API] = THREE
    found = resolve(service, GDP, key="SECRET")
    assert "api_key=SECRET" in service.asked[0]
    assert "SECRET" not in repr(found)
    assert "SECRET" not in repr(releases(service, "SECRET"))
    service.answers[API] = Raw(b'{"error_code":400}', 400)
    with pytest.raises(VenueError) as failed:
        resolve(service, GDP, key="SECRET")
    assert "SECRET" not in str(failed.value)


@pytest.mark.parametrize("nothing", [observations(), observations(("2026-10-29", "9999-12-31", "."))])
def test_what_is_not_published_waits(service, nothing):
    service.answers[API] = nothing
    assert resolve(service, GDP, key="SECRET").reason == "it is not published yet"


def test_without_a_key_what_stands_there_decides_and_says_so(service):
    service.answers[GRAPH] = Raw(b"observation_date,GDP\n2026-04-01,2.2\n2026-07-01,2.8\n")
    found = resolve(service, GDP)
    assert (found.truth, found.vintage, found.provider_ns) == (2.8, "", None)
    assert found.evidence["print"] == "as it stood when it was asked for"
    for older in (b"observation_date,GDP\n2026-04-01,2.2\n", b"DATE,GDP\n2026-04-01,2.2\n2026-07-01,.\n"):
        service.answers[GRAPH] = Raw(older)
        assert resolve(service, GDP).status == "waiting", "an older figure is not the one that was asked for"


def test_a_par_yield_of_a_day(service):
    service.answers[CURVES] = Raw(b'Date,"3 Mo","10 Yr"\n11/20/2026,3.95,4.06\n11/19/2026,3.96,4.10\n')
    assert resolve(service, TEN).truth == 4.06
    assert resolve(service, {**TEN, "above": 4.0}, "probability").truth == 1.0
    service.answers[CURVES] = Raw(b'Date,"3 Mo","10 Yr"\n11/20/2026,3.95,\n11/19/2026,3.96,4.10\n')
    assert resolve(service, TEN).status == "waiting"
    assert resolve(service, {**TEN, "period": "2026-11-23"}).status == "waiting"


def test_the_reference_is_the_last_figure_before(service):
    service.answers[CURVES] = Raw(b'Date,"3 Mo","10 Yr"\n11/20/2026,3.95,4.06\n11/19/2026,3.96,4.10\n11/18/2026,,\n')

    def shown(period, now_ns=END, **more):
        return releases(service).reference(ask("release", {**TEN, "period": period, **more}, "value"), now_ns)

    found = shown("2026-11-23")
    assert (found["price"], found["at_ns"]) == (4.06, moment_ns("2026-11-20T00:00:00Z"))
    assert shown("2027-01-04") == found, "next year has no table yet"
    for published in ("2026-11-19", "2026-11-20"):
        assert shown(published)["closed"] is True, "who forecasts now could read it"
    found = shown("2026-11-20", print="latest")
    assert (found["price"], found["at_ns"]) == (4.10, moment_ns("2026-11-19T00:00:00Z"))
    service.answers[CURVES.replace("2026", "2027")] = Raw(b'Date,"10 Yr"\n')
    assert shown("2027-01-04", moment_ns("2027-01-03T00:00:00Z"))["price"] == 4.06, "of the year before"


@pytest.mark.parametrize(
    ("query", "place", "answer", "key"),
    [
        (GDP, GRAPH, Raw(b"observation_date,GDPC1\n2026-07-01,2.8\n"), None),
        (GDP, GRAPH, Raw(b"<!DOCTYPE html><title>FRED</title>"), None),
        (GDP, GRAPH, Raw(b"observation_date,GDP\n2026-07-01,two\n"), None),
        (TEN, CURVES, Raw(b'Date,"10 Yr"\n11/20/2025,4.06\n'), None),
        (TEN, CURVES, Raw(b'Date,"10 Yr"\n11/20/2026\n'), None),
        (GDP, API, {"observations": [{"realtime_start": "2026-10-29", "date": "2026-04-01", "value": "1"}]}, "K"),
        (GDP, API, observations(("2026-10-29", "9999-12-31", "NaN")), "K"),
        (GDP, API, {"error_message": "Bad Request"}, "K"),
    ],
)
def test_another_series_day_or_no_figures_are_errors(service, query, place, answer, key):
    service.answers[place] = answer
    with pytest.raises(DataError):
        resolve(service, query, key=key)


@pytest.mark.parametrize(
    ("query", "form", "why"),
    [
        ({}, "value", "lacks 'source'"),
        ({**GDP, "source": "ons"}, "value", "its query asks 'ons'"),
        ({**TEN, "series": "9y"}, "value", "one of 1m, 1.5m"),
        ({**GDP, "period": "July"}, "value", "expected a day such as 2026-10-01"),
        ({**GDP, "print": "second"}, "value", "expected first or latest"),
        (GDP, "choice", "its form is choice"),
        (GDP, "probability", "lacks 'above'"),
    ],
)
def test_a_query_that_it_does_not_know_is_refused(query, form, why):
    with pytest.raises(UsageError, match=why):
        Releases().check(ask("release", query, form))
