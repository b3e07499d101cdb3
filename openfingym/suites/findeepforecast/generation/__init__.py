"""Generation of a season's problems: recurrent ones from calendars, non-recurrent ones from news, and both by week."""
