"""A local block bootstrap: paths put together from short blocks of training windows that were in a like state.

A path starts where some training window starts. Block after block, of a fifth of a window on average, it follows the
*increments* of another window, drawn at random from those nearest to it at that very step: in the values
reached, and in how much they have moved of late. So a path keeps the drift, the noise, the reversion and the
clustering of the law, whether or not it is stationary, and no training window shows in it for long. Given a context, a
path starts from there, with donors whose context was alike. Values that are returns are drawn as they are.
"""

import interface
import numpy as np
from scipy.spatial import cKDTree

contract = interface.contract
rng = np.random.default_rng(interface.seed)
RETURNS = contract["value_semantics"] == "log_return"
LOOKBACK, HORIZON = contract["lookback"], contract["horizon"]
DONORS = 4000
"""Training windows used at most."""
NEIGHBOURS = 10
DIMENSIONS = 8
"""Principal components of a state that are compared."""


def block_ends():
    """Where blocks end: random lengths about a fifth of a window, never above a third of it, so that no two make up a
    window.
    """
    mean, most = max(1, HORIZON // 5), max(1, HORIZON // 3)
    ends, end = [], 0
    while end < HORIZON:
        end += int(np.clip(rng.geometric(1.0 / mean), max(1, mean // 2), most))
        ends.append(min(end, HORIZON))
    return ends


def state_of(past):
    """Float64[n, t, d] -> float64[n, f]: for returns their recent size and sum, for levels also where they are."""
    steps = past if RETURNS else np.diff(past, axis=1)
    recent = steps[:, -10:]
    if not recent.shape[1]:
        return np.zeros((len(past), 0)) if RETURNS else past[:, -1]
    parts = [np.sqrt((recent**2).mean(axis=1)), steps[:, -1]]
    if not RETURNS:
        parts += [past[:, -1], past[:, -1]]  # twice: where a path is matters most
    return np.concatenate(parts, axis=1)


def compared(known, new):
    """Two sets of states on common, standardised principal components."""
    centre, scale = known.mean(axis=0), known.std(axis=0)
    a, b = ((states - centre) / np.where(scale > 1e-12, scale, 1.0) for states in (known, new))
    if a.shape[1] > DIMENSIONS:
        axes = np.linalg.svd(a, full_matrices=False)[2][:DIMENSIONS].T
        a, b = a @ axes, b @ axes
    return a, b


def choose(donors, paths, before):
    """A donor for each path: one at random of those whose state is nearest, but not the one before, which would be
    copied on.
    """
    known, new = compared(state_of(donors), state_of(paths))
    count = min(NEIGHBOURS + 1, len(donors))
    if known.shape[1]:
        near = cKDTree(known).query(new, k=count)[1].reshape(len(new), count)
    else:
        near = rng.integers(0, len(donors), (len(new), count))
    order = np.argsort(rng.random(near.shape) + (near == before[:, None]), axis=1)
    return near[np.arange(len(new)), order[:, 0]]


def grow(donors, contexts):
    """Paths float64[n, LOOKBACK + HORIZON, d] that continue contexts; donors are whole windows."""
    paths = np.empty((len(contexts), LOOKBACK + HORIZON, donors.shape[2]))
    paths[:, :LOOKBACK] = contexts
    begin, before = LOOKBACK, np.full(len(paths), -1)
    if not LOOKBACK and not RETURNS:
        before = rng.integers(0, len(donors), len(paths))
        paths[:, 0], begin = donors[before, 0], 1
    for end in (LOOKBACK + end for end in block_ends()):
        if end <= begin:
            continue
        before = choose(donors[:, :begin], paths[:, :begin], before)
        chosen = donors[before]
        if RETURNS:
            paths[:, begin:end] = chosen[:, begin:end]
        else:
            paths[:, begin:end] = paths[:, begin - 1 : begin] + chosen[:, begin:end] - chosen[:, begin - 1 : begin]
            # A sum of increments may leave what any window has ever shown at a step.
            paths[:, begin:end] = np.clip(paths[:, begin:end], lowest[begin:end], highest[begin:end])
        begin = end
    return paths


def drawn(test):
    """A path for each context, or future of one, of the form of a submission with these items alone."""
    shape = (len(test), *interface.SUBMISSION_SHAPE[1:])
    wanted = np.repeat(test, shape[1] if LOOKBACK else 1, axis=0)
    # Groups of paths have blocks of their own, so that no step is a joint of all paths; in a walk, those of a context.
    count = 1 if "window" in contract else min(len(wanted), 20)
    groups = np.array_split(rng.permutation(len(wanted)), count)
    answer = np.empty((len(wanted), HORIZON, donors.shape[2]))
    for group in groups:
        answer[group] = grow(donors, wanted[group])[:, LOOKBACK:]
    return np.clip(answer.reshape(shape), contract["low"], contract["high"])


contexts, windows = interface.load_train()
picked = np.sort(rng.permutation(len(windows))[:DONORS])
donors = np.concatenate([contexts[picked], windows[picked]], axis=1)
lowest, highest = donors.min(axis=0), donors.max(axis=0)
print(f"{len(donors)} training windows; blocks of about {max(1, HORIZON // 5)} rows, at most {max(1, HORIZON // 3)}")
if "window" in contract:
    interface.predict_each(drawn)
else:
    print(interface.submit(drawn(interface.load_test_inputs())))
