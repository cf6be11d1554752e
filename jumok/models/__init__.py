"""The systems, one file each: the data path, the sizes, the module."""
