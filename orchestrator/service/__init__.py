"""The worker: campaigns from the queue, and what has to be done by itself."""
