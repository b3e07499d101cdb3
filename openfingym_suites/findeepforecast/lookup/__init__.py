"""What agents look up in a known world: documents, figures and calendars."""
