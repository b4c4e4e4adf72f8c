"""A program without Ray: it stops in its main file, in a module that it imports late, and in a thread."""

import importlib
import sys
import threading

print("begins")  # stop: begins


def in_thread():
    done = 3
    print("thread", done)  # stop: thread


sys.path.insert(0, sys.argv[1])
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
late = importlib.import_module("late")
print("late", late.VALUE)
print("ends", sys.argv[2:])
