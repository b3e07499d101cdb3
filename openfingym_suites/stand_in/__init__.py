"""How the stand-in answers the suites' questions, by rules: it sees what a model sees, the conversation."""
