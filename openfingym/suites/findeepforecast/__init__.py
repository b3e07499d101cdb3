"""FinDeepForecast: questions that are generated every week about what is not known yet, and resolved when it is.

Source: FinDeepForecast: A Live Multi-Agent System for Benchmarking Deep Research Agents in Financial Forecasting.
"""
