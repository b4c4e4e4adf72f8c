"""Looks configuration keys up in the user's checkout or installed packages; executes nothing."""
