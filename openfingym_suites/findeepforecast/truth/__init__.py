"""The truth of problems: the first print of a figure; of an event what the world records, or a person's verdict."""
