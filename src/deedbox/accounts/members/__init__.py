"""Who belongs to a workspace: its members with their roles, and those who are invited."""
