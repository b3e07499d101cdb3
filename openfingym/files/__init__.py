"""Files: reading those that strangers made, writing them whole or not at all, and locks between processes."""
