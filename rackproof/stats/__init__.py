"""Statistics: numbers with honest intervals. Pure numpy; of scipy only the special functions, which load fast and small."""
