"""What kinds that step through bars share: ``rolling``, ``trading`` and ``live``."""
