"""Where tensors live."""

import torch

from jumok.errors import ConfigError


def choose_device(name: str, *, option: str = "training.device") -> torch.device:
    """Return the device of a name; 'auto' is CUDA, then MPS, then the CPU. option is who named it, for messages."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"{option} = '{name}': must be auto, cpu, cuda, cuda:N or mps") from None
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not present.get(device.type, False):
        raise ConfigError(f"{option} = '{name}', but this machine has no such device; use auto or cpu")
    return device
