"""Paper trading on a live market: an account whose orders fill against what the market shows and trades."""
