"""FinDeepForecast in rounds: the generator of a season, the model that reads events, and proposals of verdicts."""
