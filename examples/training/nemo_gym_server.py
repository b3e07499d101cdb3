"""OpenFinGym as a resources server of NeMo Gym: its ``simple_agent`` plays episodes with any model.

    python nemo_gym_server.py rows data/train.jsonl                  # rows
    resources_servers/openfingym/app.py                              # where this file goes, with the configuration:

    openfingym_resources_server:
      resources_servers:
        openfingym:
          entrypoint: app.py
          domain: agent
          tasks: [nifty50-forecast]
          places: 32

A session is an episode: ``/seed_session`` opens it, each tool has a route of its own, and ``/verify`` ends it and gives
the verified reward. A reward must be a number there; for a failure of ours, of the sandbox for one, ``/verify`` answers
503 with the reason, so that the rollout fails and may be collected again, and nothing is learnt from a number made up.
"""

import json
import sys
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import PlainTextResponse
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import ConfigDict, PrivateAttr

from openfingym.training import Desk, Episode

TASKS = ["nifty50-forecast"]
ROLLOUT_S = 3600.0
"""Seconds after which an episode is cut off that nobody verifies."""


class FinConfig(BaseResourcesServerConfig):
    """Which tasks are served."""

    tasks: list[str] = TASKS
    agent: str = "react"
    places: int = 32
    backend: str = "auto"


class SeedRequest(BaseSeedSessionRequest):
    """The row: which episode is wanted."""

    model_config = ConfigDict(extra="allow")

    task: str
    index: int
    split: str = "train"
    seed: int = 0


class VerifyRequest(BaseVerifyRequest):
    """The row again, with the response."""

    model_config = ConfigDict(extra="allow")


class VerifyResponse(BaseVerifyResponse):
    """The row, the response and the reward."""

    model_config = ConfigDict(extra="allow")


class FinServer(SimpleResourcesServer):
    """Serves episodes, one a session."""

    config: FinConfig
    _desks: dict[str, Desk] = PrivateAttr(default_factory=dict)
    _episodes: dict[str, Episode] = PrivateAttr(default_factory=dict)

    def desk(self, split: str) -> Desk:
        """What opens the episodes of a split."""
        config = self.config
        made = Desk(
            config.tasks,
            split=split,
            agent=config.agent,
            places=config.places,
            backend=config.backend,
            deadline_s=ROLLOUT_S,
        )
        return self._desks.setdefault(split, made)

    def setup_webserver(self) -> FastAPI:
        """The routes of any resources server, and after them those of tools, whatever their names are."""
        app = super().setup_webserver()
        app.post("/{tool}")(self.call)
        return app

    async def seed_session(self, request: Request, body: SeedRequest) -> BaseSeedSessionResponse:
        """Open the episode of a row."""
        await self.end(request)
        opened = await self.desk(body.split).open(body.task, body.index, seed=body.seed)
        self._episodes[request.session[SESSION_ID_KEY]] = opened
        return BaseSeedSessionResponse()

    async def call(self, request: Request, tool: str) -> PlainTextResponse:
        """Call a tool; a mistake of the model's is told in the result."""
        episode = self._episodes.get(request.session[SESSION_ID_KEY])
        if episode is None:
            return PlainTextResponse("There is no episode: /seed_session opens one.", 409)
        return PlainTextResponse(await episode.call(tool, (await request.body()).decode(errors="replace")))

    async def verify(self, request: Request, body: VerifyRequest) -> VerifyResponse:
        """End the episode; its verified reward."""
        episode = await self.end(request)
        if episode is None:
            raise HTTPException(409, "there is no episode in this session")
        if episode.reward is None:
            raise HTTPException(503, f"there is no reward, for a reason that is not the model's: {episode.failure}")
        return VerifyResponse(**body.model_dump(), reward=episode.reward)

    async def end(self, request: Request) -> Episode | None:
        """End the episode of a session, if it has one."""
        episode = self._episodes.pop(request.session[SESSION_ID_KEY], None)
        if episode is not None:
            await episode.finish()
        return episode


def rows(n: int, split: str = "train", tasks: list[str] = TASKS) -> list[dict[str, Any]]:
    """Rows of a data set: the messages with which each episode begins, its tools, and which it is."""
    with Desk(tasks, split=split) as desk:
        made = []
        for row in desk.rows(n):
            brief = desk.brief(row["task"], row["index"])
            tools = [{"type": "function", "strict": False, **tool["function"]} for tool in brief.tools]
            made.append({"responses_create_params": {"input": list(brief.messages), "tools": tools}, **row})
        return made


if __name__ == "__main__":
    if sys.argv[1:2] == ["rows"]:
        Path(sys.argv[2]).write_text("".join(json.dumps(row) + "\n" for row in rows(1000)))
    else:
        FinServer.run_webserver()
