"""Trained models in use, one file per task."""
