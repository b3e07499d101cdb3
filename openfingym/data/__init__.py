"""Datasets, where they come from, and how a task's windows are cut from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.data.bars import Bars
    from openfingym.data.curves import simulated_curves
    from openfingym.data.dataset import DatasetInfo, dataset_info, datasets
    from openfingym.data.graphs.split import stratified_split
    from openfingym.data.loaded_graphs import load_graph, load_graph_set
    from openfingym.data.panel import Panel, load_panel
    from openfingym.data.processes.sets import draw_sets, process_set, stream_paths
    from openfingym.data.pulled import pulled_panel
    from openfingym.data.recipe import Windows, cut
    from openfingym.data.vendor_bars import pulled_bars

__all__ = [
    "Bars",
    "DatasetInfo",
    "Panel",
    "Windows",
    "cut",
    "dataset_info",
    "datasets",
    "draw_sets",
    "load_graph",
    "load_graph_set",
    "load_panel",
    "process_set",
    "pulled_bars",
    "pulled_panel",
    "simulated_curves",
    "stratified_split",
    "stream_paths",
]

_HOMES = {
    "Bars": "bars",
    "DatasetInfo": "dataset",
    "Panel": "panel",
    "Windows": "recipe",
    "cut": "recipe",
    "dataset_info": "dataset",
    "datasets": "dataset",
    "draw_sets": "processes.sets",
    "load_graph": "loaded_graphs",
    "load_graph_set": "loaded_graphs",
    "load_panel": "panel",
    "process_set": "processes.sets",
    "pulled_bars": "vendor_bars",
    "pulled_panel": "pulled",
    "simulated_curves": "curves",
    "stratified_split": "graphs.split",
    "stream_paths": "processes.sets",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
