"""The server of examples/training/nemo_gym_server.py, asked as NeMo Gym's simple agent asks it."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import MagicMock

import pytest

from openfingym.training import training_tasks

from ..conftest import example, required
from ..same_episode import CALLS, INDEX, SPLIT, TASK, check, ours_failing

server_utils = required("nemo_gym.server_utils")
openai_utils = required("nemo_gym.openai_utils")
testclient = required("fastapi.testclient")
ours = example("nemo_gym_server")

ROW = {"task": TASK, "index": INDEX, "split": SPLIT, "seed": 0}
CREATE = {"input": [{"role": "user", "content": "OpenFinGym"}]}
RESPONSE = {
    "id": "r",
    "created_at": 1.0,
    "model": "m",
    "object": "response",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}


@pytest.fixture
def server() -> Any:
    config = ours.FinConfig(host="127.0.0.1", port=0, entrypoint="", name="", tasks=[TASK], backend="sandbox", places=2)
    made = ours.FinServer(config=config, server_client=MagicMock(spec=server_utils.ServerClient))
    yield made
    for desk in made._desks.values():
        desk.close()


def verified(client: Any) -> Any:
    return client.post("/verify", json={"responses_create_params": CREATE, "response": RESPONSE, **ROW})


def test_the_same_episode(server: Any) -> None:
    client, other = (testclient.TestClient(server.setup_webserver()) for _ in range(2))
    # A session is a cookie: two of them are two episodes.
    with client, other:
        for one in (client, other):
            assert one.post("/seed_session", json={"responses_create_params": CREATE, **ROW}).status_code == 200
        for message in CALLS:
            for call in message.get("tool_calls", []):
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                told = client.post(f"/{name}", json=arguments)
                assert "submission 1" in told.text
        assert "no tool" in client.post("/no_such_tool", json={}).text
        found = verified(client)
        assert found.status_code == 200, found.text
        check(found.json()["reward"])
        assert found.json()["index"] == INDEX
        assert verified(other).json()["reward"] == -1.0
        assert verified(other).status_code == 409  # an episode is verified once
    assert not server._episodes


def test_a_failure_of_ours_is_no_reward(server: Any) -> None:
    with ours_failing() as broken, testclient.TestClient(server.setup_webserver()) as client:
        server._desks[SPLIT] = ours.Desk(TASK, split=SPLIT, **broken)
        client.post("/seed_session", json={"responses_create_params": CREATE, **ROW})
        client.post("/run_python", json={"code": "print(1)"})
        found = verified(client)
    assert found.status_code == 503
    assert "127.0.0.1:9" in found.text


def test_rows_are_requests_of_nemo_gym() -> None:
    assert set(ours.TASKS) <= set(training_tasks())
    (row,) = ours.rows(1, tasks=[TASK])
    wanted = openai_utils.NeMoGymResponseCreateParamsNonStreaming.model_validate(row["responses_create_params"])
    assert {tool["name"] for tool in wanted.model_dump()["tools"]} >= {"run_python", "write_file"}
    assert ours.SeedRequest.model_validate(json.loads(json.dumps(row))).task == TASK
