"""Making environments by the names of tasks: ``openfingym.make`` and ``openfingym.make_vec``."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from openfingym.errors import UsageError
from openfingym.kinds import SequentialKind, kind_of
from openfingym.task import Task

if TYPE_CHECKING:
    import gymnasium
    from gymnasium.vector import VectorEnv

    from openfingym.envs.hidden import Split
    from openfingym.envs.trading import TradingEnv
    from openfingym.envs.trading_hidden import HiddenTradingEnv
    from openfingym.envs.trading_vector import TradingVectorEnv
    from openfingym.kinds.instances import InstanceSplit
    from openfingym.packages.package import BuiltPackage

T = TypeVar("T")

LOOKBACK = 16
"""Rows that an observation of a trading task shows by default."""


def make(
    task: str | Path | Task, *, split: Split | InstanceSplit | None = None, **options: object
) -> gymnasium.Env[Any, Any]:
    """Make the environment of a task, building its package on first use.

    The task's kind says which environment it is (:meth:`openfingym.kinds.Kind.environment_of`). A batch task gives a
    :class:`~openfingym.envs.batch.BatchEnv`, whose one action is a submission. A sequential task is stepped through: on
    the training bars, which everybody has, with ``split="train"`` (:class:`~openfingym.envs.trading.TradingEnv` or
    :class:`~openfingym.envs.rolling.RollingEnv`); on hidden ones behind the verifier with ``practice`` (the public
    fold) and ``test`` (the private fold, each episode once; ``env.unwrapped.result()`` then gives the verified score).

    A batch task is scored on its hidden part, and with ``split="train"`` or ``"validation"`` on instances of it, which
    are cut from its training data: each ``reset`` goes on to the next.

    Args:
        task: a task's name, its folder, or a task.
        split: data that the task is played on. For a sequential task ``train``, ``practice`` or ``test``, and None for
            ``train``; for a batch task ``test``, ``train`` or ``validation``, and None for ``test``.
        options: options of the environment, such as ``action`` and ``reward`` of a batch task, or ``lookback``,
            ``action``, ``observation``, ``indicators`` and ``reward`` of a trading task. Target weights are projected
            onto the admissible ones on training bars, and refused where they are not admissible on hidden ones, unless
            ``action`` says otherwise.

    Raises:
        TaskNotFoundError: no task has this name; the message suggests similar ones.
        UsageError: an option is unknown or impossible.
    """
    from openfingym import catalog

    loaded = task if isinstance(task, Task) else catalog.load_task(task)
    kind = kind_of(loaded)
    maker = _load(kind.environment_of(loaded.spec.contract))
    if isinstance(kind, SequentialKind):
        env = _instantiate(maker, loaded, split=split or "train", **options)
        return _with_spec(env, task, loaded, {"split": split or "train", **options})
    # Left out where it was not given: an environment of a third party's kind need not know splits.
    if split is not None:
        options = {"split": split, **options}
    return _with_spec(_instantiate(maker, loaded, **options), task, loaded, options)


def make_vec(task: str | Path | Task, num_envs: int, **options: object) -> VectorEnv[Any, Any, Any]:
    """Make many environments of a trading task in one, on its training bars.

    Args:
        task: a trading task's name, its folder, or a task.
        num_envs: number of environments, each with an account of its own.
        options: options of :class:`~openfingym.envs.trading_vector.TradingVectorEnv`, such as ``lookback``, ``action``,
            ``indicators`` and ``reward``.

    Raises:
        TaskNotFoundError: no task has this name; the message suggests similar ones.
        UsageError: the task is not a trading task, or an option is unknown or impossible.
    """
    from openfingym import catalog

    loaded = task if isinstance(task, Task) else catalog.load_task(task)
    kind = kind_of(loaded)
    if kind.vector_environment is None:
        raise UsageError(
            f"{loaded.name!r} is a {kind.name} task, and only trading tasks are vectorised; "
            "gymnasium.vector.SyncVectorEnv runs several of any other"
        )
    env = _instantiate(_load(kind.vector_environment), loaded, num_envs=num_envs, **options)
    return _with_spec(env, task, loaded, {"num_envs": num_envs, **options})


def trading_vector(task: Task, *, num_envs: int, **options: object) -> TradingVectorEnv:
    """Many accounts on the training bars of a trading task; the vector environment that its kind names."""
    from openfingym.envs.trading_vector import TradingVectorEnv
    from openfingym.packages.build import build

    return _instantiate(TradingVectorEnv, num_envs=num_envs, **_training(build(task), options))


def trading_environment(task: Task, *, split: str, **options: object) -> TradingEnv | HiddenTradingEnv:
    """An account on a trading task's training bars, or on its hidden ones; the environment that its kind names."""
    from openfingym.packages.build import build

    package = build(task)
    if split == "train":
        from openfingym.envs.trading import TradingEnv

        return _instantiate(TradingEnv, **_training(package, options))
    from openfingym.envs.hidden import FOLDS
    from openfingym.envs.trading_hidden import HiddenTradingEnv

    if split not in FOLDS:
        raise UsageError(f"split is {split!r}; known: 'train', {', '.join(map(repr, FOLDS))}")
    return _instantiate(HiddenTradingEnv, package, fold=FOLDS[split], **{"lookback": LOOKBACK, **options})


def _training(package: BuiltPackage, options: dict[str, object]) -> dict[str, object]:
    """Arguments of an environment on a task's training bars: the task's own, which the caller's options override."""
    from openfingym.envs.trading_hidden import training_bars
    from openfingym.kinds.trading.environment import market_of
    from openfingym.kinds.trading.kind import contract_of

    contract = contract_of(package.task.spec.contract)
    defaults = {
        "market": market_of(contract),
        "initial_cash": contract.initial_cash,
        "lookback": LOOKBACK,
        "steps": contract.steps,
    }
    return {"bars": training_bars(package), **defaults, **options}


def _with_spec(env: T, task: str | Path | Task, loaded: Task, options: dict[str, object]) -> T:
    """The environment, after noting in it how it was made, so that Gymnasium can make it again."""
    from openfingym.envs.registration import spec_of

    arguments: dict[str, object] = {"task": str(task) if isinstance(task, Path) else task, **options}
    env.unwrapped.spec = spec_of(loaded.name, arguments)  # type: ignore[attr-defined]
    return env


def _load(place: str) -> Callable[..., Any]:
    """The class or function that a kind names as ``module:name``.

    Raises:
        UsageError: there is nothing at this place.
    """
    try:
        maker: Callable[..., Any] = pkgutil.resolve_name(place)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"the environment {place!r}, which a kind of task names, cannot be loaded: {error}") from error
    return maker


def _instantiate(maker: Callable[..., T], *arguments: object, **options: object) -> T:
    """Make an environment.

    Raises:
        UsageError: it does not know an option, or refuses its value.
    """
    import inspect

    # Looked up before the call: a TypeError from it could be of anything that goes wrong inside.
    known = inspect.signature(maker).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    if not takes_all and (unknown := [name for name in options if name not in known]):
        raise UsageError(
            f"unknown option {', '.join(map(repr, unknown))} of {maker.__name__}; known: {', '.join(known)}"
        )
    return maker(*arguments, **options)
