"""Images explained by small models: hardly trained, but with weights that make them look sharply."""

import pytest
import torch
from cli.conftest import train_once, write_recipe

IMAGE = "shapes.png"
RECIPE = """
task = "image-classification"
[data]
set = "shapes"
set_size = 24
size = 16
[model]
{model}
[training]
steps = 3
batch_size = 8
warmup = 1
evaluate_every = 3
save_every = 3
monitor = "accuracy"
"""
MODELS = {
    "vit": 'name = "vit"\npatch_size = 4\nlayers = 3\nwidth = 16\nheads = 2\nfeedforward = 16',
    "swin": 'name = "swin"\npatch_size = 2\nwidth = 8\nlayers = [1, 2]\nheads = [1, 2]\nwindow = 3',
    "cnn": 'name = "cnn"\nwidth = 8\nstages = 2\nblocks = 1',
}


def explained(tmp_path_factory, name):
    import jumok
    from jumok.data.builtin import shapes

    run = train_once(tmp_path_factory, f"image-{name}", write_recipe(RECIPE.format(model=MODELS[name])))
    classifier = jumok.load(run)
    with torch.no_grad():
        for path, weights in classifier.model.named_parameters():
            if "query" in path and weights.dim() == 2:
                weights.mul_(4.0 if name == "vit" else 40.0)
    file = tmp_path_factory.mktemp(name) / IMAGE
    shapes.draw(shapes.scene("test", 27), 16).save(file)
    return classifier.explain(file, details=True)


@pytest.fixture(scope="session")
def vit(tmp_path_factory):
    """A ViT's look at an image of 4 × 4 patches: three layers of two heads."""
    return explained(tmp_path_factory, "vit")


@pytest.fixture(scope="session")
def swin(tmp_path_factory):
    """A Swin's look at an image of 8 × 8, then 4 × 4 patches."""
    return explained(tmp_path_factory, "swin")


@pytest.fixture(scope="session")
def cnn(tmp_path_factory):
    """What has no attention."""
    return explained(tmp_path_factory, "cnn")
