"""Starts a job whose code Ray uploads: a working_dir and a py_module, both from folders named on the command line."""

import sys

import ray


def main():
    working_dir, module = sys.argv[1:]
    ray.init(log_to_driver=False, runtime_env={"working_dir": working_dir, "py_modules": [module]})

    @ray.remote(num_cpus=0)
    def uploaded():
        from steps import train_step

        return train_step(3)

    @ray.remote(num_cpus=0)
    def in_module():
        from losses.ppo import loss

        return loss(2.0)

    print(f"uploaded: {ray.get([uploaded.remote(), in_module.remote()])}", flush=True)


if __name__ == "__main__":
    main()
