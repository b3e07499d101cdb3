"""Looking things up in the world as of a time: pages, prices, series, statements, and arithmetic."""
