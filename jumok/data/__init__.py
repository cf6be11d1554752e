"""From files to batches: sources → tokenizer → store → batching; subwords and cache help on the way."""
