"""What the kinds ``nodes`` and ``graphs`` share: labels that are divided at random, and scores of items."""
