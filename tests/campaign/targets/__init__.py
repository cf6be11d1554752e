"""Every kind of file that jumok reads, each with its good files and its reader."""

from campaign.target import Target
from campaign.targets import images, runs, tables

TARGETS: list[Target] = [*runs.TARGETS, *tables.TARGETS, *images.TARGETS]
