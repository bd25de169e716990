"""The values that pass through the house: frozen, with units in their names, free of I/O."""
