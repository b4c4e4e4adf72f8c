"""An actor whose code Ray uploads: `uploaded.py FOLDER`; the module is imported when it is needed."""

import sys

import ray


@ray.remote(num_cpus=0)
class Uploaded:
    def run(self):
        from inner.steps import train

        return train(3)


ray.init(runtime_env={"working_dir": sys.argv[1]}, log_to_driver=False)
actor = Uploaded.remote()
print(f"uploaded: {ray.get(actor.run.remote())}")
