"""Devices that Ansible configures: one folder of playbooks/ a platform."""
