"""The simulator for many accounts at once, compiled; it agrees with the readable one bit for bit."""
