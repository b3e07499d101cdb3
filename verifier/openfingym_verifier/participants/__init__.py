"""Participants: who they are, their keys, and the tokens of their rollouts."""
