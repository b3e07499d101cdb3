"""Do nothing: a rollout that submits nothing is rejected, never scored."""
