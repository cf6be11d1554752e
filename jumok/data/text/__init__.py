"""Text: files, tokenizers, stores, plans of batches."""
