"""Collecting what became known, and when, into a vault: the paper's data collection agent."""

from openfingym_suites.findeepforecast.collection.collector import Collector, find_collector, known_collectors
from openfingym_suites.findeepforecast.collection.sec import SecCollector

__all__ = ["Collector", "SecCollector", "find_collector", "known_collectors"]
