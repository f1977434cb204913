"""__init__.py : narrow floats for Python. narrowcast.cast casts arrays, narrowcast.ddp and .fsdp are for PyTorch's DDP and FSDP2.

`python -m narrowcast.selftest` tests the installation."""

__version__ = "0.1.0"
