"""What goes over the wire, one module for each part of the API."""
