"""Buys all symbols in equal parts at the first open and holds them: what the relative total of a trading task divides
by.
"""

import interface

symbols = interface.contract["symbols"]
env = interface.make()
while env.episodes_left:
    env.reset()
    # An episode that is left early goes on to its end with nothing more done.
    observation, *_ = env.step({"weights": [1 / len(symbols)] * len(symbols)})
    print(f"bought {dict(zip(symbols, observation['positions'], strict=True))}")
