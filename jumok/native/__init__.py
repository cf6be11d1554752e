"""Kernels in C for what a CPU does between large matrix products; everything has a twin in torch, which it replaces."""
