"""The commands, one file each: read the arguments, call the library, print what it returned."""
