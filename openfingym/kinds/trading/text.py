"""The facts and the lines of Python in the instruction of a trading task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.data.bars import FIELDS
from openfingym.kinds.material import Brief

if TYPE_CHECKING:
    from openfingym.kinds.material import Material
    from openfingym.kinds.trading.contract import TradingContract

ORDER_OPTIONS = (
    "`type` market, limit, stop or stop-limit",
    "`limit_price`, `stop_price`",
    "`time_in_force` gtc or ioc",
    "`client_id` of your own",
    "`oco`, a name that a limit and a stop or stop-limit order share: one cancels the other",
)
"""What an order may state beside symbol, side and quantity."""


def brief_of_trading(contract: TradingContract, material: Material) -> Brief:
    """What an agent is told of a trading task.

    Args:
        contract: the contract of the task.
        material: the arrays of the task and the facts about them.
    """
    width = len(contract.symbols)
    note = (
        "What you decide is live from the next bar on, never at a price you have seen: target weights trade at the "
        "next open,\n"
        "orders inside the next bar. What the market refuses costs nothing and is named, with its reason, in the "
        "next observation.\n"
        "Hidden bars are later than all of training, carry a running number (`time_index`) and no date, and come "
        "in the order of time."
    )
    usage = f"""\
bars, times = interface.load_train()  # float64 {material.public["train_bars"].shape}: row, symbol, field; \
datetime64[ns]
env = interface.make()
while env.episodes_left:
    observation, info = env.reset()  # observation["bars"]: float64 ({contract.lookback}, {width}, 5), \
the last row is now
    done = False
    while not done:
        action = {{"weights": [{", ".join([f"{1 / width:.3g}"] * width)}]}}  \
# shares of equity, negative for short; None to hold
        # or: {{"orders": [{{"symbol": "{contract.symbols[0]}", "side": "buy", "quantity": 10, \
"type": "limit", "limit_price": 99.5}}],
        #      "cancels": [order, ...], "replaces": [{{"order": 3, "quantity": 5}}, ...]}}
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated"""
    return Brief(_facts(contract, material), note, usage)


def _facts(contract: TradingContract, material: Material) -> tuple[tuple[str, str], ...]:
    """The rows of an instruction's table of facts."""
    short = contract.max_short
    costs = ", ".join(
        f"{value:g} {unit}"
        for value, unit in (
            (contract.fee_bps, "bps fee"),
            (contract.fee_per_trade, "in cash a fill"),
            (contract.slippage_bps, "bps slippage"),
            (contract.half_spread_bps, "bps half spread"),
            (contract.borrow_bps_per_year, "bps a year for borrowing"),
        )
        if value
    )
    return (
        ("symbols", ", ".join(contract.symbols)),
        (
            "`bars` of an observation",
            f"the last {contract.lookback}: {', '.join(FIELDS)}; `splits` and `dividends` of the last one",
        ),
        ("the account in it", "`cash`, `free_cash`, `equity`, `positions`, `open_orders`, `steps_left`"),
        ("what the last bar did", "`fills`, `rejections` (with a reason), `changes` of orders"),
        ("an order", "`symbol`, `side`, `quantity`; " + "; ".join(ORDER_OPTIONS)),
        ("cash at the start", f"{contract.initial_cash:,.0f}"),
        ("costs", costs or "none"),
        ("short positions", f"up to {short:g} times equity" if short else "none"),
        ("limits", _limits(contract)),
        ("training bars", str(material.n_train)),
        ("episodes that count", f"{material.n_private} of {contract.steps} steps"),
        ("episodes to practise on", str(material.n_public)),
    )


def _limits(contract: TradingContract) -> str:
    """The limits of quantities, prices and orders, in words."""
    limits = [f"quantities in multiples of {contract.lot:g}" if contract.lot else "any quantity"]
    limits += [f"prices of {contract.tick:g}"] if contract.tick else []
    limits += (
        [f"fills of a bar up to {contract.max_participation:.0%} of its volume"] if contract.max_participation else []
    )
    limits += [f"{contract.max_orders_per_step} orders a step", f"{contract.max_open_orders} open"]
    return "; ".join(limits)
