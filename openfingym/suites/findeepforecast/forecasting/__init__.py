"""How forecasts are asked for, read and made: prompts, answers, and forecasters that are rules."""
