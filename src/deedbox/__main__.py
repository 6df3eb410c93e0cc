"""`python -m deedbox`."""

from deedbox.cli import main

main()
