"""Begins every episode and buys nothing: the account stays in cash."""

import interface

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    print(f"bar {info['time_index']}: {observation['equity']:g} in cash")
