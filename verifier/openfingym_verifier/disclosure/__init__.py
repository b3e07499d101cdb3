"""What is told of scores, to whom, and the detection of answers that know the labels."""
