"""The service's JSON API. Nothing is here yet: it comes with the service, and the import contracts already hold it to its place."""
