"""What the larger commands do: each file is named as its command."""
