"""The list of documents, and the page of one."""

WORDS = {
    "nobodys_turn": "It is nobody's turn to sign this document now.",
    "hand_over": "Hand over to {signer}",
    "hand_over_means": "To have someone sign who is here with you, hand over this device. You are signed out on it"
    " before the document opens, so that nobody can use your account.",
}
