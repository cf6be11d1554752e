"""Training: accumulate, clip, step, evaluate, save. Nothing here knows a model or a modality."""
