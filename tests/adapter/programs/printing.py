"""A worker that waits in breakpoint() while a thread that no debugger stops, such as a thread of native code, prints."""

import threading

done = threading.Event()


def chatter():
    while not done.is_set():
        print("step", end=" ", flush=True)


thread = threading.Thread(target=chatter)
thread.is_pydev_daemon_thread = True
thread.pydev_do_not_trace = True
thread.start()
breakpoint()
done.set()
thread.join()
print("all printed")
