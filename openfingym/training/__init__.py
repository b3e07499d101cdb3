"""Training: rollouts that are played from outside, by any trainer."""
