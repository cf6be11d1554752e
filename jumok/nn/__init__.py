"""Blocks that models are built of. Nothing here knows a task, a file or a recipe; only torch is imported."""
