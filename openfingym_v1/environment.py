"""The environment for verifiers: one agent, whose programs run in OpenFinGym's own sandboxes."""

from __future__ import annotations

import verifiers.v1 as vf


class EpisodeEnvConfig(vf.EnvConfig):
    """The configuration of an environment with one agent."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The agent. Nothing runs in its runtime, and so it is the runtime that costs nothing to start."""


class EpisodeEnv(vf.Env[EpisodeEnvConfig]):
    """One agent plays each task."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Have the agent play."""
        await agents.agent.run(task)
