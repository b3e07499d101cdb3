"""The truth of problems: figures by their first print, events by what the world records, or by evidence and verdict."""
