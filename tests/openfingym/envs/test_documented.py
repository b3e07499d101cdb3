"""What docs/environments.md says of trading: a policy can be written from it alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import openfingym
from openfingym.envs.indicators import FORMULAS, parse

TEXT = (Path(__file__).parents[3] / "docs" / "environments.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a line that starts so."""
    rows = TEXT[TEXT.index(heading) :].splitlines()[2:]
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in rows[: next(n for n, row in enumerate(rows) if not row.startswith("|"))]
    ]


@pytest.mark.parametrize("lookback", [16, 3])
def test_the_parts_of_an_observation(lookback) -> None:
    env = openfingym.make("equity-trading", lookback=lookback)
    sizes = {"L": lookback, "S": len(env.bars.symbols)}
    parts = {row[0].strip("`"): eval(row[1], {}, sizes) for row in table("| part |")}
    assert [*parts.items()] == [(name, part.shape) for name, part in env.layout.items()]
    [formula] = set(re.findall(r"float32\[(?:N, )?([^\]]*L S[^\]]*)\]", TEXT))
    size = sum(np.prod([sizes.get(factor) or int(factor) for factor in term.split()]) for term in formula.split("+"))
    assert env.observation_space.shape == (size,)
    shown = openfingym.make("equity-trading", lookback=lookback, observation="dict").observation_space
    shapes = {row[0].strip("`"): row[1] for row in table("| key |")}
    assert shapes.keys() == shown.spaces.keys()
    for name in ("bars", "account", "positions", "steps_left"):
        assert eval(shapes[name], {}, sizes) == shown[name].shape


def test_the_options_and_infos() -> None:
    env = openfingym.make("equity-trading")
    for name, heading in (("action", "| `action` | one"), ("reward", "| `reward` |")):
        for row in table(heading):
            openfingym.make("equity-trading", **{name: re.match(r"`(.*?)`", row[0])[1]})
    info = env.reset(seed=0)[1] | env.step(np.full(3, 0.3))[4]
    assert all(f"`{key}`" in TEXT for key in info)


def test_the_indicators() -> None:
    rows = {row[0].strip("`"): row[1:] for row in table("| indicator |")}
    known = parse(list(FORMULAS), 1000)
    assert list(rows) == [one.label for one in known]
    for one in known:
        formula, range_, bars = rows[one.label]
        periods = dict(zip(formula.split(":")[0].split(", "), one.periods, strict=True))
        low, high = (eval(re.sub(r"√(\(.*?\)|k)", r"(\1)**0.5", end), {}, periods) for end in range_.split(" to "))
        assert one.bounds == pytest.approx((low, high))
        assert one.warm_up == eval(bars, {}, periods)


def test_the_programs_run() -> None:
    env = openfingym.make("equity-trading")

    def policy(observation: np.ndarray) -> np.ndarray:
        return np.full((*observation.shape[:-1], 3), 0.2)

    programs = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(programs) == 5
    names = {"openfingym": openfingym, "policy": policy, "env": env}
    exec(programs[4], names)
    exec(programs[2], names | {"observation": env.reset(seed=0)[0]})
    assert names["rewards"].shape == (64,)
    shown = {"openfingym": openfingym}
    exec(programs[3], shown)
    assert shown["rsi"].shape == (3,)
    assert shown["known"].tolist() == [1.0, 1.0, 1.0]
    exec(programs[1], names)
    walked: dict[str, object] = {}
    exec(programs[0], walked)
    assert walked["done"]
    assert walked["info"]["state"] == "scored"
