"""The generators that the library brings; one file each, which ends with ``GENERATOR = ...``."""
