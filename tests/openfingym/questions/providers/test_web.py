"""What a service may send instead of an answer."""

from __future__ import annotations

import pytest

from openfingym.errors import DataError, VenueError
from openfingym.questions.web import LARGEST, NotThereError, Web
from tests.openfingym.questions.providers.served import Raw


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        (Raw(b"<!DOCTYPE html><title>Just a moment</title>"), DataError, "web page titled 'Just a moment'"),
        (Raw(b""), DataError, "empty"),
        (Raw(b'{"cut": tr'), DataError, "no JSON document"),
        (Raw(b"[" * 5000), DataError, "nested more than"),
        (Raw(b'{"n": ' + b"9" * 5000 + b"}"), DataError, "digits"),
        (Raw(b'["not an object"]'), DataError, "is a list, expected an object"),
        (Raw(b'{"cut": 1', stated=100), VenueError, "no answer"),
        (Raw(b'{"a": "' + b"x" * LARGEST + b'"}'), DataError, "longer than"),
        (Raw(b"{}", 404), NotThereError, "no such thing"),
        (Raw(b"{}", 500), VenueError, "status 500"),
        (Raw(b"", 302, {"Location": "https://elsewhere.example/x"}), VenueError, "leads to 'https://elsewhere"),
        (Raw(b"Too Many Requests"), VenueError, "Too Many Requests"),
    ],
)
def test_what_is_no_answer_is_an_error(service, answer, error, why):
    service.answers["/x"] = answer
    with pytest.raises(error, match=why):
        service.web.get("/x").object()


def test_a_service_that_limits_us_is_left_alone_for_as_long_as_it_says(service):
    service.answers["/x"] = Raw(b"{}", 429, {"Retry-After": "60"})
    web = service.web
    with pytest.raises(VenueError, match="waits for 60 s"):
        web.get("/x")
    service.answers["/x"] = {}
    with pytest.raises(VenueError, match=r"wants \d+ s of rest"):
        web.get("/x")
    assert len(service.asked) == 1


def test_a_key_is_in_no_address_that_is_shown(service):
    service.answers["/x"] = {"fine": True}
    reply = service.web.get("/x", {"a": 1}, hidden={"api_key": "SECRET"})
    assert service.asked == ["/x?a=1&api_key=SECRET"]
    assert "SECRET" not in reply.url
    service.answers["/x"] = Raw(b"", 500)
    with pytest.raises(VenueError) as failed:
        service.web.get("/x", {"a": 1}, hidden={"api_key": "SECRET"})
    assert "SECRET" not in str(failed.value)


def test_nobody_there_is_an_error_of_the_venue():
    with pytest.raises(VenueError, match="no answer"):
        Web("http://127.0.0.1:1").get("/x")
    with pytest.raises(VenueError, match="no answer") as failed:
        Web("http://127.0.0.1:1").get("/x", hidden={"api_key": "SECRET"})
    assert "SECRET" not in str(failed.value)
