"""A task of its own, with model, data, predictor and command, as it would stand inside jumok: one file each."""
