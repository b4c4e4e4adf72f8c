"""A program that counts until the file of its argument is there."""

import os
import sys
import time

count = 0
while not os.access(sys.argv[1], os.F_OK):
    count += 1
    time.sleep(0.001)  # stop: loop
print("counted", flush=True)
