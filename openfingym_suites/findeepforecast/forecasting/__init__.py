"""Forecasts: the prompts that ask for them, how answers are read, and forecasters that follow a rule."""
