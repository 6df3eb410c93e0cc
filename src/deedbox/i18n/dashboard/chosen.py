"""Boxes for files."""

WORDS = {
    "chosen_choose": "Choose files",
    "chosen_or_drop": "or drop them here",
    "chosen_choose_one": "Choose a file",
    "chosen_or_drop_one": "or drop it here",
    "chosen_listed": "Chosen files, in order",
    "chosen_remove": "Remove {file}",
    "chosen_up": "Move {file} up",
    "chosen_down": "Move {file} down",
    "chosen_failed": "The files could not be uploaded. Check your connection and try again.",
    "chosen_password": "Password of a protected PDF",
    "chosen_password_hint": "Only for a password-protected PDF. It is used once and not stored.",
    "chosen_sending": "Uploading the files",
    "chosen_too_many": "At most {most} files are allowed. Choose fewer.",
    "chosen_too_large": "{name}: a file can have at most {mb} MB",
    "chosen_table_too_large": "The file can have at most {mb} MB",
}
