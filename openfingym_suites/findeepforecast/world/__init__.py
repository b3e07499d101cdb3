"""The worlds that seasons ask about, one simulated and one recorded: what is known of them as of a time."""
