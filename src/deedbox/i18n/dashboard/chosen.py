"""Boxes for files."""

WORDS = {
    "chosen_choose": "Choose files",
    "chosen_or_drop": "or drop them here",
    "chosen_choose_one": "Choose a file",
    "chosen_or_drop_one": "or drop it here",
    "chosen_listed": "What you have chosen, in its order",
    "chosen_remove": "Leave {file} out",
    "chosen_up": "Move {file} up",
    "chosen_down": "Move {file} down",
    "chosen_failed": "The files could not be sent. Check your connection and try again.",
    "chosen_password": "Password of a locked PDF",
    "chosen_password_hint": "Only if one is locked. It is used once and kept nowhere.",
    "chosen_sending": "Sending the files",
    "chosen_too_many": "There may be {most} files. Choose fewer.",
    "chosen_too_large": "{name}: a file may have {mb} MB",
    "chosen_table_too_large": "The file may have {mb} MB",
}
