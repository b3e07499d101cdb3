"""Looking at trading rollouts: replays, frames, tear sheets."""
