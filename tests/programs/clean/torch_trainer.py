"""Ray Train's TorchTrainer with two gloo workers that train without trouble: `torch_trainer.py FOLDER SECONDS`."""

import sys
import tempfile
import time

import ray
import ray.train
import ray.train.torch
import torch
from torch.utils.data import DataLoader, TensorDataset


def train_func(config):
    torch.manual_seed(0)
    model = ray.train.torch.prepare_model(torch.nn.Linear(4, 1))
    data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    loader = ray.train.torch.prepare_data_loader(DataLoader(data, batch_size=8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    # Both workers do the same number of epochs.
    for _ in range(int(config["seconds"])):
        for features, targets in loader:
            loss = torch.nn.functional.mse_loss(model(features), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        ray.train.report({"loss": loss.item()})
        time.sleep(1)


def main():
    ray.init()
    trainer = ray.train.torch.TorchTrainer(
        train_func,
        train_loop_config={"seconds": float(sys.argv[2])},
        scaling_config=ray.train.ScalingConfig(
            num_workers=2, resources_per_worker={"CPU": 1}, use_gpu=False
        ),
        run_config=ray.train.RunConfig(storage_path=tempfile.mkdtemp(dir=sys.argv[1])),
    )
    print(f"trained: error {trainer.fit().error}", flush=True)


if __name__ == "__main__":
    main()
