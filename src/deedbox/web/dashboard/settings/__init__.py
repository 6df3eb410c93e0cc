"""The settings of a workspace: one file for each of their pages."""
