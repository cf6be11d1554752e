"""Scores, each with what it needs to be reproduced."""
