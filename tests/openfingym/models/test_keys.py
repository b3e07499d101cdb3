"""Keys that are given by value: where they are sent, and everywhere that they are not."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
import traceback
from dataclasses import asdict, replace

import pytest

from openfingym.agents.llm.conversation_runner import ConversationRunner
from openfingym.agents.llm.open_models import MOST_IDLE
from openfingym.errors import ModelUnavailableError, UsageError
from openfingym.models import ChatModel, Message, ModelSpec
from openfingym.models.prices import PriceTable

from .scripted import Scripted, completion

KEY = "sk-secret-0123456789"
SAID = (Message("user", "Go."),)


def test_the_key_is_sent_and_shown_nowhere(no_key: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Scripted(lambda *_: completion({"content": "x"})) as server:
        spec = ModelSpec.parse("m", base_url=server.base_url, api_key=KEY)

        async def ask() -> None:
            async with spec.open() as model:
                await model.complete(SAID)

        asyncio.run(ask())
        assert server.keys == [KEY]
    assert spec.api_key is not None
    shown = [repr(spec), str(spec), str(spec.api_key), repr(asdict(spec)), json.dumps(asdict(spec), default=str)]
    assert ModelSpec("m", f"http://gateway/{KEY}/v1", api_key=KEY).endpoint == "http://gateway/***/v1"
    shown += [str(spec.endpoint), repr(copy.deepcopy(spec)), repr(copy.copy(spec)), str(vars(spec)), f"{spec.api_key}"]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("openfingym")]
    assert not any(KEY in text for text in [*shown, *ours])
    assert copy.deepcopy(spec) == spec


def test_the_key_is_never_pickled() -> None:
    spec = ModelSpec.parse("m", api_key=KEY)
    for value in (spec, spec.api_key, {"nested": [spec]}):
        with pytest.raises(UsageError, match="key_variable"):
            pickle.dumps(value)
    without = replace(spec, api_key=None)
    assert pickle.loads(pickle.dumps(without)) == without


def test_an_endpoint_that_repeats_the_key_it_refuses(no_key: None) -> None:
    with Scripted(lambda *_: (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})) as server:

        async def ask() -> None:
            async with ModelSpec("m", server.base_url, api_key=KEY).open() as model:
                await model.complete(SAID)

        with pytest.raises(ModelUnavailableError) as raised:
            asyncio.run(ask())
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert "***" in str(raised.value)


def test_keys_by_value_make_models_of_their_own() -> None:
    one, same, other = (ModelSpec("m", "http://x/v1", api_key=key) for key in (KEY, KEY, "another"))
    assert one == same != other
    assert len({one, same, other, ModelSpec("m", "http://x/v1")}) == 3


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "schlüssel"])
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(UsageError, match="api_key is a text"):
        ModelSpec.parse("m", api_key=key)


def test_a_key_lets_in_where_the_environment_has_none(no_key: None) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        ModelSpec.parse("m").require_access()
    ModelSpec.parse("m", api_key=KEY).require_access()


def test_models_that_nobody_asks_any_more_are_closed() -> None:
    def closed(model: ChatModel) -> bool:
        return model._endpoint._client.is_closed()

    with (
        Scripted(lambda *_: completion({"content": "x"})) as server,
        ConversationRunner(patience_s=1.0) as conversations,
    ):
        specs = [ModelSpec("m", server.base_url, api_key=f"key-{number}") for number in range(3 * MOST_IDLE)]
        prices = PriceTable({})
        with conversations.model(specs[0], prices) as first:
            seen = []
            for spec in specs[1:]:
                with conversations.model(spec, prices) as model, conversations.model(spec, prices) as again:
                    assert model is again, "rollouts of one specification share it"
                    seen.append(model)
            assert [closed(model) for model in seen] == [True] * (len(seen) - MOST_IDLE) + [False] * MOST_IDLE
            assert not closed(first), "it is in use"
            conversations.run(first.complete(SAID))
            assert len(conversations._models) == MOST_IDLE + 1
        with conversations.model(specs[-1], prices) as warm:
            assert warm is seen[-1]
        assert len(conversations._models) == MOST_IDLE
        assert server.keys == ["key-0"]
        left = [first, *seen[-MOST_IDLE:]]
    assert all(closed(model) for model in left)


def test_a_model_that_cannot_be_opened_is_not_kept(no_key: None) -> None:
    with ConversationRunner(patience_s=1.0) as conversations:
        for _ in range(2):
            with pytest.raises(UsageError, match="OPENAI_API_KEY"), conversations.model(ModelSpec("m"), PriceTable({})):
                pass
        assert len(conversations._models) == 0
