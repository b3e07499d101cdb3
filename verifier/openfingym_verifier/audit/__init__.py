"""Checks of a ledger from outside: its log, and the other tables against the log."""
