"""A run's folder, a run made ready, a run loaded, shipped models by name."""
