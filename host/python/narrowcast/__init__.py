"""__init__.py : narrow floats for Python. narrowcast.cast casts arrays, narrowcast.ddp is a hook for PyTorch's DDP.

`python -m narrowcast.selftest` tests the installation."""

__version__ = "0.1.0"
