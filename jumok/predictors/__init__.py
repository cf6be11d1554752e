"""Trained models in use, one file a task."""
