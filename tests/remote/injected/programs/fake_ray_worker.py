"""As much of Ray's own module of this place as a driver has that joins a cluster."""

import os
from pathlib import Path

from ray._private.state import state


class Core:
    def get_actor_id(self):
        return self

    get_worker_id = get_current_job_id = get_actor_id

    def is_nil(self):
        return True

    def hex(self):
        return "ab"


class Worker:
    connected = False
    node_ip_address = "127.0.0.1"
    core_worker = Core()
    node = None

    def set_debugger_port(self, port):
        if state.accessor.get_worker_info(self.core_worker) is None:
            # Where a real GCS would crash.
            os._exit(66)
        file = Path(os.environ["PORT_FILE"])
        part = file.with_suffix(".part")
        part.write_text(str(port))
        part.replace(file)


global_worker = Worker()


def connect():
    global_worker.connected = True
