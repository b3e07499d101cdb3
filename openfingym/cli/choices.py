"""What options may be, as plain values: the modules that these words belong to take long to load.

A test compares each with what it repeats.
"""

from __future__ import annotations

FAMILIES = ("forecasting", "generation", "trading", "fraud", "questions")
"""Those of :data:`openfingym.task.contracts.Family`."""
KINDS = ("forecast", "curves", "rows", "generation", "nodes", "graphs", "rolling", "trading", "live", "questions", "qa")
"""Those of :data:`openfingym.task.known_kinds.OWN`."""
AGENTS = (
    "naive",
    "mean",
    "seasonal",
    "ridge",
    "gbm",
    "var",
    "arima",
    "historical",
    "har",
    "nelson-siegel",
    "market-implied",
    "logistic",
    "ewma",
    "bootstrap",
    "copula",
    "garch-sim",
    "isolation-forest",
    "degree",
    "graph-smooth",
    "rolling-ridge",
    "recurrency",
    "frequency",
    "last-value",
    "last-year",
    "cash",
    "buy-and-hold",
    "equal-weight",
    "momentum",
    "mean-reversion",
    "volatility-target",
    "risk-parity",
    "nop",
    "oracle",
    "oneshot",
    "react",
    "direct",
    "zero-shot-cot",
    "rag",
    "deep-research",
    "codeblock",
    "script",
    "command",
)
"""Names of :data:`openfingym.agents.BUILTIN`."""
STATES = ("scored", "rejected", "deferred", "void", "error")
"""Those of :data:`openfingym.results.State`."""
SPLITS = ("test", "train", "validation")
"""Those of :data:`openfingym.trajectory.Split`."""
BACKENDS = ("auto", "docker", "sandbox", "inline")
"""Those of :data:`openfingym.machine.BackendName`."""
CLOCKS = ("simulated", "real")
"""Those of :data:`openfingym.kinds.asking.Clock`."""
REPORTED_BY = ("agent", "model", "backend")
"""Those of :data:`openfingym.reports.cells.Field`."""
FILLS = ("none", "forward", "interpolate", "drop")
"""Those of :data:`openfingym.task.dataset.Fill`."""
MEASURES = ("price", "yield", "mixed")
"""Those of :data:`openfingym.data.dataset.Measure`."""
