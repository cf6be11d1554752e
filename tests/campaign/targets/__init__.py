"""Every kind of file that jumok reads, each with its good files and its reader."""

from campaign.target import Target
from campaign.targets import images, imports, recipes, runs, tables

TARGETS: list[Target] = [*runs.TARGETS, *imports.TARGETS, *recipes.TARGETS, *tables.TARGETS, *images.TARGETS]
