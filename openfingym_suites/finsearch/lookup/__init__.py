"""Looking things up in the world as of a time: pages, prices, series and statements."""
