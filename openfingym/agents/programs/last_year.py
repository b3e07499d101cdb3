"""What is published next is what was published a year before, moved as the newest figure moved within a year.

Of figures of each day, and where there is no value a year before, the last value; of an event, what most events of
training came to.
"""

import interface
import numpy as np

YEAR, APART = 365.25, 20


def year_before(days, day):
    """The place of the period a year before a day, or None."""
    gaps = np.abs((day - days).astype(int) - YEAR)
    place = int(gaps.argmin())
    return place if gaps[place] <= APART else None


def moved(rows, day):
    """The value of a year before a day, moved as the newest value moved within a year; else the last value."""
    days, values = (
        np.array([row[0] for row in rows], dtype="datetime64[D]"),
        np.array([row[1] for row in rows], dtype=float),
    )
    steps = np.diff(days).astype(int)
    if len(values) < 2 or not 20 <= steps[-1] <= 100:
        return values[-1]
    base, past = year_before(days, day), year_before(days, days[-1])
    if base is None or past is None:
        return values[-1] if base is None else values[base]
    growth = values[-1] / values[past] if values[past] > 0 else 0.0
    if values[base] > 0 and 0.25 < growth < 4.0:
        return values[base] * growth
    return values[base] + values[-1] - values[past]


env = interface.make()
found = 0
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    if query["track"] != "recurrent":
        env.step({"answer": interface.contract["prior"]})
        continue
    about = {"subject": query["subject"], "periods": 18}
    if query["level"] == "corporate":
        about["measure"] = query["measure"]
    told, *_ = env.step({"tool": "history", "arguments": about})
    rows = told["value"]["rows"] if told["value"] else []
    env.step({"answer": float(moved(rows, np.datetime64(query["period"]))) if rows else interface.contract["prior"]})
    found += bool(rows)
print(f"{found} figures with a history")
