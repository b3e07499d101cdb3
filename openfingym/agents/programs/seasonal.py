"""Seasonal means: what happened on average at this hour of the day, or on this day of the week.

A mean is shrunk towards zero by twice what chance explains of the differences between seasons (James and Stein
shrink by once that), so that where there are no seasons hardly anything is forecast.
"""

import interface
import numpy as np

contract = interface.contract
SEMANTICS = contract["value_semantics"]


def season_of(times):
    """The hour of the day; on daily data the day of the week, on slower data the month."""
    if contract["frequency"] in {"hourly", "intraday"}:
        return (times - times.astype("datetime64[D]")) // np.timedelta64(1, "h")
    if contract["frequency"] == "daily":
        return (times.astype("datetime64[D]").astype(int) + 3) % 7
    return times.astype("datetime64[M]").astype(int) % 12


inputs, targets = interface.load_train()
train_times = interface.load("train_times")[:, contract["lookback"] :]
pooled = "series" in contract
columns = [0] if pooled else [contract["channels"].index(name) for name in contract["targets"]]
last = inputs[:, -1:, columns]
if SEMANTICS == "log_return":
    steps = targets
elif SEMANTICS == "price_level":
    steps = np.diff(np.log(np.concatenate([last, targets], axis=1)), axis=1)
else:
    steps = np.diff(np.concatenate([last, targets], axis=1), axis=1)

# Windows overlap: each time counts once. Pooled series are alike, and each of them counts.
if pooled:
    times, rows = train_times.reshape(-1), steps.reshape(-1, 1)
else:
    times, first = np.unique(train_times, return_index=True)
    rows = steps.reshape(-1, steps.shape[2])[first]
rows = rows - rows.mean(axis=0)
seasons, number = np.unique(season_of(times), return_inverse=True)
count = np.bincount(number)
means = np.stack([rows[number == season].mean(axis=0) for season in range(len(seasons))])
# Pooled series move together: the rows of one time are one draw, not many.
draws = count * len(np.unique(times)) / len(times)
chance = (rows.var(axis=0) / draws[:, None]).mean(axis=0)
kept = np.clip(1.0 - 2.0 * chance / np.maximum((means**2).mean(axis=0), 1e-300), 0.0, 1.0)
print(f"{len(seasons)} seasons; share of their differences kept, by channel: {np.round(kept, 2).tolist()}")

for window in interface.iter_test():
    times = window.arrays["times"][:, contract["lookback"] :]
    place = np.searchsorted(seasons, season_of(times)).clip(max=len(seasons) - 1)
    found, last = (kept * means)[place], window.inputs[:, -1:, columns]
    if SEMANTICS == "log_return":
        answer = found
    elif SEMANTICS == "price_level":
        answer = last * np.exp(found.cumsum(axis=1))
    else:
        answer = last + found.cumsum(axis=1)
    window.predict(np.clip(answer, contract["low"], contract["high"]))
