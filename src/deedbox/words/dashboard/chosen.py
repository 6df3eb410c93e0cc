"""Boxes for files."""

WORDS = {
    "chosen_drop": "Drop files here, or choose them.",
    "chosen_remove": "Remove {name}",
    "chosen_up": "Move {name} up",
    "chosen_down": "Move {name} down",
    "chosen_failed": "The files could not be sent. Check your connection and try again.",
    "chosen_password": "Password of a locked PDF",
    "chosen_password_hint": "Only if one is locked. It is used once and kept nowhere.",
    "chosen_sending": "Sending the files",
}
