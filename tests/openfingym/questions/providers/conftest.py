"""A service on this machine, one a module, which has answered nothing yet when a test begins."""

from __future__ import annotations

import pytest

from tests.openfingym.questions.providers.served import serve


@pytest.fixture(scope="module")
def server():
    with serve() as found:
        yield found


@pytest.fixture
def service(server):
    server.answers.clear()
    server.asked.clear()
    return server
