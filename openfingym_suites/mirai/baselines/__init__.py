"""Baselines without a language model: forecasts of relations from what was known at a time.

:func:`recurrency` and :func:`frequency` look at the pair's own past alone and need no training. The others are fitted
on one view and forecast on later ones: from features of the past (:func:`fit_features`), from the graph of events
(:func:`fit_regcn`, which needs PyTorch), or from the words of articles (:func:`fit_articles`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym_suites.mirai.baselines.articles import fit_articles
    from openfingym_suites.mirai.baselines.features import fit_features
    from openfingym_suites.mirai.baselines.past import Forecaster, frequency, recurrency
    from openfingym_suites.mirai.baselines.regcn import fit_regcn

__all__ = ["Forecaster", "fit_articles", "fit_features", "fit_regcn", "frequency", "recurrency"]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "Forecaster": "past",
        "fit_articles": "articles",
        "fit_features": "features",
        "fit_regcn": "regcn",
        "frequency": "past",
        "recurrency": "past",
    },
)
