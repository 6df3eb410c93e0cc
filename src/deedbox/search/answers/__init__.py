"""Answers to questions, written from passages: by the user's own model and then checked, or taken from them."""
