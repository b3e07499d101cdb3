"""The environment: one agent, whose programs run in sandboxes of OpenFinGym's and not in a machine rented for them."""

from __future__ import annotations

import verifiers.v1 as vf


class EpisodeEnvConfig(vf.EnvConfig):
    """As of any task set with one agent."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The agent. Nothing runs in its runtime, and so it is the one that takes nothing."""


class EpisodeEnv(vf.Env[EpisodeEnvConfig]):
    """One agent plays each task."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Have the agent play."""
        await agents.agent.run(task)
