"""Which model a recipe is for: the default of its task, one that is asked for, or that of an earlier run."""

from dataclasses import replace

from jumok.catalogue import MODELS, config_class, model_class
from jumok.errors import ConfigError, did_you_mean
from jumok.workflows.new.caption_plan import image_captioning
from jumok.workflows.new.drawing_plan import image_codes, text_to_image
from jumok.workflows.new.material import Material
from jumok.workflows.new.plan import Plan
from jumok.workflows.new.plans import PLANS, Size
from jumok.workflows.new.series_plan import forecasting

DEFAULT_MODELS = {
    "translation": "transformer",
    "text-classification": "recurrent-classifier",
    "image-classification": "vit",
    "image-captioning": "captioner",
    "image-codes": "image-codes",
    "text-to-image": "dalle",
    "forecasting": "forecaster",
    "language-modeling": "gpt",
    "masked-language-modeling": "bert",
}
# What a run can be fine-tuned for.
GOES_ON_AS = {
    "masked-language-modeling": ("text-classification", "masked-language-modeling"),
    **{
        task: (task,)
        for task in (
            "translation",
            "text-classification",
            "image-classification",
            "image-captioning",
            "forecasting",
            "language-modeling",
        )
    },
}


def choose(material: Material, size: Size) -> Plan:
    """Return the plan of a recipe for what somebody has."""
    if size.earlier is not None:
        _check_goes_on(material.task, size)
    else:
        model = size.model or DEFAULT_MODELS[material.task]
        fitting = [name for name in MODELS if material.task in model_class(name).tasks]
        if model not in fitting:
            raise ConfigError(f"--model {model} is not for {material.task}; {did_you_mean(model, fitting)}")
        presets = config_class(model).PRESETS
        if size.preset and size.preset not in presets:
            raise ConfigError(
                f"--preset {size.preset}: {model} has no such preset; {did_you_mean(size.preset, presets)}"
            )
        size = replace(size, model=model)
    plans = {
        **PLANS,
        "image-captioning": image_captioning,
        "image-codes": image_codes,
        "text-to-image": text_to_image,
        "forecasting": forecasting,
    }
    return plans[material.task](material, size)


def _check_goes_on(task: str, size: Size) -> None:
    earlier = size.earlier
    assert earlier is not None
    if size.model or size.preset:
        raise ConfigError("--from takes the model of the earlier run; leave out --model and --preset")
    fitting = GOES_ON_AS.get(earlier.recipe.task, ())
    if task not in fitting:
        raise ConfigError(
            f"--from {earlier.folder} is a run of {earlier.recipe.task}, which can go on as {' or '.join(fitting) or 'nothing'}; "
            f"the data is for {task} (--task chooses another)"
        )
    if earlier.recipe.data.languages:
        raise ConfigError(
            f"--from {earlier.folder} translates to {', '.join(earlier.recipe.data.languages)}; a run of several languages goes "
            "on with data of all of them: write the recipe by hand (docs/directions.md)"
        )
