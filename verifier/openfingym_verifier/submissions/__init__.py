"""Submissions as they arrive: from the bytes of a request to the array that is scored."""
