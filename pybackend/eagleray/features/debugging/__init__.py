"""WorkerAttacher to a paused worker, letting it go on, ignoring a breakpoint."""
