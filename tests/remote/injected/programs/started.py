"""A program that another one starts."""

import sys

print(sys.argv[1:], flush=True)  # stop: started
sys.exit(5)
