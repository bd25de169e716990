"""Pantheon's files: its logs, metadata and test descriptions, read and written."""
