"""What agents look up in a known world."""
