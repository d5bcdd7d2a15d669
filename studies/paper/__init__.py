"""Reproduction: every table and figure of the paper computed again, in cells that are kept, next to what it printed."""
