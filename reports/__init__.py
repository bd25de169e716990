"""How a document becomes PDF and HTML. Knows no kind of plan."""
