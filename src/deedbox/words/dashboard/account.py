"""Signing in, and a person's own account."""

WORDS = {
    "sign_in": "Sign in",
    "password": "Password",
    "no_password": "No password yet, or forgotten? Whoever runs this server can make a one-time link:",
    "welcome": "Welcome to Deedbox",
    "link_means": "This link signs you in once. Then you choose your name, your e-mail address and a password.",
    "your_account": "Your account",
    "first_time": "Choose how you sign in from now on.",
    "saved": "Saved. Next time, sign in with your e-mail address and password.",
    "name_hint": "As it stands in the evidence when you hand a device to a signer.",
    "new_password": "New password",
    "password_hint": "At least 10 characters.",
    "keep_password_hint": "At least 10 characters. Leave it empty to keep the present one.",
    "current_password": "Current password",
    "current_password_hint": "Needed to change anything here.",
    "workspace_here": "The workspace that you are signed in to",
}
