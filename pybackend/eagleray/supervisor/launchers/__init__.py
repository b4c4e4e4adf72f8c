"""The ways to start a program, behind one interface."""
