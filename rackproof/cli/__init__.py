"""The command line: where the parts of the house are put together. Nothing else imports it."""
