"""Tables: cells or rows are secrets; public columns are left alone."""
