"""Figures, one file each: values in, a Figure out; every one is a pure function."""
