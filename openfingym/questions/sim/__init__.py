"""Made-up markets: what they show and how they end follows from a secret key, and can be read at any time."""
