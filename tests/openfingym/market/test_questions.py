"""Questions to a venue's REST interface keep to its limit."""

import numpy as np

from openfingym.market.commands import Ask, Command, RestAnswer
from openfingym.market.feed import Request
from openfingym.market.questions import MINUTE, VenueQuestions
from openfingym.market.ticks import SECOND


def test_the_venues_own_count_is_of_the_last_minute_alone() -> None:
    out: list[Command] = []
    questions = VenueQuestions(100, np.random.default_rng(0), out)
    questions.put("time", "", [Request("GET", "/time", weight=60)], 0)
    questions.answered(1, RestAnswer(200, b""), SECOND)
    later = 2 * MINUTE
    questions.put("time", "", [Request("GET", "/time", weight=0)], later - 90 * SECOND)
    questions.answered(2, RestAnswer(200, b"", used=80), later)  # of which 60 were spent two minutes ago by ourselves
    questions.put("book", "A", [Request("GET", "/book", weight=50)], later)
    assert [command.question for command in out if isinstance(command, Ask)] == [1, 2]
    questions.release(later + MINUTE)
    assert [command.question for command in out if isinstance(command, Ask)] == [1, 2, 3]
