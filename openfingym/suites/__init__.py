"""Suites: benchmarks of questions with data, tools, metrics and baselines of their own."""
