"""The code inside the inspected process: a thread that answers questions about stacks, variables and expressions.

The modules here are joined to one text (`remote/inspecting/inside_source.py`), which is executed in the process.  So they need
only the standard library of Python 3.9 and import nothing of ours but each other, and a name at the top of one is in no
other.  The program isn't stopped: a thread that waits in C has given up the GIL, and its frames stand still.  The
thread answers only its own user, and ends after `serving.IDLE_S` without a question.
"""
