"""Seasons: what is entered in them, and the board that is published at their close."""
