"""Files: reading those that strangers made, and writing whole or not at all."""
