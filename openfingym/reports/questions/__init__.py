"""What a report says of runs of questions with tools: how they ended, what was called, and scores in parts."""
