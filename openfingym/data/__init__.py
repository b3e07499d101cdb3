"""Datasets, where they come from, and how a task's windows are cut from them."""

from openfingym.data.csvfile import canonical_csv, read_csv_panel
from openfingym.data.dataset import DatasetInfo, dataset_info, datasets
from openfingym.data.panel import Panel, load_panel
from openfingym.data.recipe import Windows, cut, to_values

__all__ = [
    "DatasetInfo",
    "Panel",
    "Windows",
    "canonical_csv",
    "cut",
    "dataset_info",
    "datasets",
    "load_panel",
    "read_csv_panel",
    "to_values",
]
