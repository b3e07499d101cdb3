"""Values that options may have, repeated here as plain words because the modules that define them take long to load.

A test compares each with its definition.
"""

from __future__ import annotations

FAMILIES = ("forecasting", "generation", "trading", "fraud", "questions")
"""The values of :data:`openfingym.task.contracts.Family`."""
KINDS = ("forecast", "curves", "rows", "generation", "nodes", "graphs", "rolling", "trading", "live", "questions", "qa")
"""The names in :data:`openfingym.task.known_kinds.OWN`."""
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
    "cli",
)
"""The names in :data:`openfingym.agents.BUILTIN`."""
STATES = ("scored", "rejected", "deferred", "void", "error")
"""The values of :data:`openfingym.results.State`."""
SPLITS = ("test", "train", "validation")
"""The values of :data:`openfingym.trajectory.record.Split`, and of :data:`openfingym.results.SplitName`."""
BACKENDS = ("auto", "docker", "sandbox", "inline")
"""The values of :data:`openfingym.machine.BackendName`."""
CLOCKS = ("simulated", "real")
"""The values of :data:`openfingym.kinds.questions.asking.Clock`."""
REPORTED_BY = ("agent", "model", "backend", "isolation", "principal")
"""The values of :data:`openfingym.reports.cells.Field`."""
FILLS = ("none", "forward", "interpolate", "drop")
"""The values of :data:`openfingym.task.dataset.Fill`."""
MEASURES = ("price", "yield", "mixed")
"""The values of :data:`openfingym.data.dataset.Measure`."""
