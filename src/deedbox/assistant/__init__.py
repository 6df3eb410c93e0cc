"""The tools that an assistant gets: each asks the API as any caller does, and tells what it heard."""
