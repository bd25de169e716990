"""The pages in the browser. Nothing is here yet: they come after the API, and the import contracts already hold them to their place."""
