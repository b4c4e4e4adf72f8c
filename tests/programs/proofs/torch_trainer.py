"""Ray Train's TorchTrainer with two gloo workers; each stands at a breakpoint() in the train function."""

import sys
import tempfile

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
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    rank = ray.train.get_context().get_world_rank()
    for features, targets in loader:
        loss = torch.nn.functional.mse_loss(model(features), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if config["stop"]:
        breakpoint()
    ray.train.report({"loss": loss.item(), "rank": rank})  # stands: train_func


def main():
    ray.init(log_to_driver=False)
    trainer = ray.train.torch.TorchTrainer(
        train_func,
        train_loop_config={"lr": 0.1, "stop": True},
        scaling_config=ray.train.ScalingConfig(
            num_workers=2, resources_per_worker={"CPU": 1}, use_gpu=False
        ),
        run_config=ray.train.RunConfig(storage_path=tempfile.mkdtemp(dir=sys.argv[1])),
    )
    # Without checkpoints the result has no metrics; a training that fails raises.
    print(f"trained: error {trainer.fit().error}", flush=True)


if __name__ == "__main__":
    main()
