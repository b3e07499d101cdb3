"""Worlds that seasons are about: what is known of economies and companies as of a time."""
