"""Delta Lake: a table that commits files and offsets together, its log, and its maintenance."""
