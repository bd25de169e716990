"""One file a revision; 0001 is the first."""
