"""Generating a season's problems, week by week: recurrent ones from calendars, non-recurrent ones from news."""
