"""Texts: words found by detectors are secrets, and the words around them are the public context W."""
