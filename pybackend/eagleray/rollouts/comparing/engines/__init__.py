"""The sources that can be compared: inference servers, a model in torch, and dumps of training."""
