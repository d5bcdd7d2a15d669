"""Raw data to Records and back: text, tables, locations, vectors."""
