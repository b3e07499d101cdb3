"""Built packages: scaffolding a task, building it, and what lies on disk afterwards."""
