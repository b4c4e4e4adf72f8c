"""A fake of verl's trainer: takes Hydra's overrides, prints its configuration and, as the console logger does, its steps."""

import json
import sys


def main() -> None:
    config = {}
    for word in sys.argv[1:]:
        key, _, value = word.lstrip("+").partition("=")
        config[key] = value
    print(json.dumps(config), flush=True)
    if config.get("fake.silent"):
        return
    for step in range(1, int(config["trainer.total_training_steps"]) + 1):
        figures = {
            "critic/rewards/mean": "0.25",
            "response_length/mean": "np.float64(511.6)",
            "response_length/clip_ratio": "0.125",
            "timing_s/gen": "3.25",
            "timing_s/step": "5.5",
        }
        line = " - ".join(f"{name}:{value}" for name, value in figures.items())
        print(f"(TaskRunner pid=7) step:{step} - {line}", flush=True)


if __name__ == "__main__":
    main()
