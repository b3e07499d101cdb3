"""Pages that show what an agent did in a rollout, and what came of it."""
