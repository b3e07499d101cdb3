"""The backend `docker`: containers, the agent image and its engine."""
