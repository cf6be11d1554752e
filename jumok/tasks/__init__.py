"""What to learn and how to score it: collate examples, sum a loss, compute metrics, answer."""
