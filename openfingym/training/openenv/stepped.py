"""An episode of a Gymnasium environment, whose actions and observations are JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.training.openenv.wire import ActionRefused, Json, invalid

if TYPE_CHECKING:
    import gymnasium
    from gymnasium.spaces import Space

FINISH = "finish"
"""Type of the action that ends a rollout of hidden episodes, which are scored by a verifier."""


class SteppedPlay:
    """Episodes of one Gymnasium environment.

    Attributes:
        quick: whether a step is taken in this process and not behind a verifier, and so takes so little time that it
            may be taken on the event loop.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], *, quick: bool) -> None:
        self.quick = quick
        self._env = env
        self._step: Callable[[Any], Any] = env.step
        self._read_action, self._key = reader_of(env.action_space), key_of(env.action_space)
        self._over = True
        """Whether no step can be taken."""
        self._begun = False
        """Whether an episode was ever begun."""

    async def reset(self, seed: int | None, options: Mapping[str, object]) -> Json:
        """Begin an episode.

        Args:
            seed: seed of the environment; None for one that it chooses.
            options: options of the reset, as the environment takes them.

        Returns:
            The observation, in OpenEnv's form.

        Raises:
            ActionRefused: an option is impossible, or a verifier does not answer.
        """
        try:
            shown, info = await self._done(lambda: self._env.reset(seed=seed, options=dict(options) or None))
        except UsageError as error:
            raise ActionRefused("EXECUTION_ERROR", str(error)) from None
        self._over, self._begun = False, True
        return {"observation": {"observation": shown, "info": info}, "reward": None, "done": False}

    async def step(self, action: Json) -> Json:
        """Take a step.

        Args:
            action: the action as a client sends it: an object with the key ``action``, or the action itself where that
                is an object.

        Returns:
            The observation with its reward, in OpenEnv's form.

        Raises:
            ActionRefused: the action does not fit, the episode is over, or a verifier does not answer.
        """
        if self._over:
            if action.get("type") == FINISH:
                return await self.finish()
            state = "the episode is over" if self._begun else "no episode was begun"
            raise ActionRefused("EXECUTION_ERROR", f"{state}; send a reset first")
        if self._key is None:
            asked: object = {name: value for name, value in action.items() if name != "metadata"}
        else:
            if self._key not in action:
                if action.get("type") == FINISH:
                    return await self.finish()
                raise invalid(self._key, "it is missing", kind="missing", message="Invalid action")
            if len(action) > 1 and (extra := sorted(set(action) - {self._key, "metadata"})):
                raise invalid(extra[0], "an action has no such key", kind="extra_forbidden", message="Invalid action")
            asked = action[self._key]
        try:
            value = self._read_action(asked)
            if self.quick:
                shown, reward, terminated, truncated, info = self._step(value)
            else:
                shown, reward, terminated, truncated, info = await self._done(lambda: self._step(value))
        except (UsageError, TypeError, ValueError, OverflowError) as error:
            raise invalid(self._key or "", str(error), message="Invalid action") from None
        self._over = terminated or truncated
        if self._over:
            info = {**info, "terminated": terminated}
        return {"observation": {"observation": shown, "info": info}, "reward": reward, "done": self._over}

    async def finish(self) -> Json:
        """End a rollout of hidden episodes, and tell its verified result.

        Raises:
            ActionRefused: the episodes are not hidden ones, or there is no result for a reason of ours.
        """
        env = self._env.unwrapped
        if self.quick or not hasattr(env, "result"):
            raise ActionRefused("EXECUTION_ERROR", "episodes on training bars have no verified score")
        try:
            result = await self._done(env.result)
        except UsageError as error:
            raise ActionRefused("EXECUTION_ERROR", str(error)) from None
        self._over = True
        if result.state not in {"scored", "rejected"}:
            raise ActionRefused(
                "EXECUTION_ERROR", f"there is no score, for a reason of ours: {result.reason or result.state}"
            )
        return {"observation": {"result": result.to_dict()}, "reward": None, "done": True}

    async def close(self) -> None:
        """End the episode."""
        self._over = True
        if self.quick:
            self._env.close()
        else:
            await asyncio.to_thread(self._env.close)

    async def _done(self, work: Callable[[], Any]) -> Any:
        """Do something that may wait for a verifier; on another thread, unless nothing is waited for.

        Raises:
            UsageError: what is asked for is impossible.
            ActionRefused: a failure of ours.
        """
        try:
            return work() if self.quick else await asyncio.to_thread(work)
        except UsageError:
            raise
        except OpenFinGymError as error:
            raise ActionRefused("EXECUTION_ERROR", f"a failure of ours: {error}") from None


def key_of(space: Space[Any]) -> str | None:
    """The key under which a client sends the action; None where the action itself is an object."""
    from gymnasium import spaces

    return None if isinstance(space, spaces.Dict) else "action"


def reader_of(space: Space[Any]) -> Callable[[object], object]:
    """Makes an action of a space from its JSON.

    It raises UsageError, TypeError or ValueError for a value of another shape or type. Bounds are checked by the
    environment.
    """
    import numpy as np
    from gymnasium import spaces

    if not isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        return lambda value: value
    shape, dtype = space.shape, space.dtype

    def array(value: object) -> object:
        numbers = np.asarray(value)
        # A conversion to the space's type at once would take texts, booleans and null for numbers.
        if numbers.dtype.kind not in "iuf" or numbers.shape != shape:
            kind = f"shape {numbers.shape}" if numbers.dtype.kind in "iuf" else f"{str(value)[:60]}"
            raise UsageError(f"expected numbers of shape {shape}, found {kind}")
        return numbers.astype(dtype)

    return array


def schema_of(space: Space[Any]) -> Json:
    """The JSON schema of the values of a space."""
    import numpy as np
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        parts = {name: schema_of(part) for name, part in space.spaces.items()}
        return {"type": "object", "properties": parts}
    if isinstance(space, spaces.Sequence):
        return {"type": "array", "items": schema_of(space.feature_space)}
    if isinstance(space, spaces.Tuple):
        return {"type": "array", "prefixItems": [schema_of(part) for part in space.spaces]}
    if isinstance(space, spaces.Discrete):
        return {"type": "integer", "minimum": int(space.start), "maximum": int(space.start + space.n - 1)}
    if not isinstance(space, spaces.Box):
        return {}
    whole = np.issubdtype(space.dtype, np.integer)
    schema: Json = {"type": "integer" if whole else "number"}
    for name, value in (("minimum", float(space.low.min())), ("maximum", float(space.high.max()))):
        # Spaces state 1e300 where there is no bound, since Gymnasium's checker takes an infinite one for a mistake.
        if np.isfinite(value) and abs(value) < 1e300:
            schema[name] = int(value) if whole else value
    for size in reversed(space.shape):
        schema = {"type": "array", "items": schema, "minItems": size, "maxItems": size}
    return schema
