"""The pages in the browser: Jinja2 on the server, over the API and the store of the service."""
