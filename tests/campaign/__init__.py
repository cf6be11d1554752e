"""Campaigns against jumok: damaged files, killed processes, full disks. `python -m campaign`, with tests/ on the path."""
