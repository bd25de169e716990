"""OpenFlow 1.3: flows as data, and a controller that waits for every answer."""
