"""Collecting what became known, and when, into a vault: the paper's data collection agent."""

from openfingym.suites.findeepforecast.collection.collector import Collector, find_collector, known_collectors
from openfingym.suites.findeepforecast.collection.sec import SecCollector

__all__ = ["Collector", "SecCollector", "find_collector", "known_collectors"]
