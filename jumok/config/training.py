"""The [training] of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from jumok.config.section import Section


class TrainingConfig(Section):
    """How a model learns."""

    steps: int = Field(10_000, ge=1, description="optimizer steps in all")
    batch_tokens: int = Field(4096, ge=1, description="a batch's rows × the longer of its longest source and target")
    batch_size: int = Field(0, ge=0, description="images a batch, for tasks on images; 0 = 128")
    accumulate: int = Field(1, ge=1, description="batches whose gradients are summed for one step")
    optimizer: Literal["adam", "adamw", "muon"] = Field(
        "adam", description="muon: orthogonal steps for the layers' matrices, AdamW for the rest"
    )
    learning_rate: float = Field(1e-3, gt=0.0, description="the peak, reached after warmup")
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = Field(
        "inverse_sqrt", description="after the warm-up"
    )
    warmup: int = Field(1000, ge=0, description="steps from zero to the peak")
    final_learning_rate: float = Field(0.0, ge=0.0, description="where cosine and linear end")
    betas: list[Annotated[float, Field(ge=0.0, lt=1.0)]] = Field([0.9, 0.98], min_length=2, max_length=2)
    epsilon: float = Field(1e-9, gt=0.0)
    weight_decay: float = Field(0.0, ge=0.0)
    clip: float = Field(1.0, ge=0.0, description="largest gradient norm; 0 = off")
    label_smoothing: float = Field(0.1, ge=0.0, lt=1.0)
    teacher_forcing: float = Field(
        1.0, ge=0.0, le=1.0, description="share of true tokens among a decoder's inputs; the rest it wrote itself"
    )
    teacher_forcing_decay: float = Field(
        0.0, ge=0.0, le=1.0, description="how much lower teacher_forcing is at the last step, on a straight line"
    )
    self_critical: Literal["none", "greedy", "mean"] = Field(
        "none",
        description="learn from the CIDEr-D of answers drawn at random: greedy = one against the greedy answer (Rennie et "
        "al. 2017), mean = five against each other; start from a trained run by init",
    )
    average: Literal["none", "last", "ema"] = Field("none", description="weights that are scored and saved for use")
    average_last: int = Field(5, ge=1, description="average = 'last': how many saves are averaged")
    average_decay: float = Field(
        0.999, ge=0.0, lt=1.0, description="average = 'ema': share of the old average kept a step"
    )
    monitor: str = Field("loss", description="the val score that decides which weights are best")
    evaluate_sentences: int = Field(
        1000, ge=1, description="most val sentences answered at an evaluation (the loss takes all)"
    )
    patience: int = Field(0, ge=0, description="stop after so many evaluations without a better score; 0 = never")
    save_every: int = Field(500, ge=1, description="steps between checkpoints")
    evaluate_every: int = Field(500, ge=1, description="steps between evaluations")
    log_every: int = Field(50, ge=1, description="steps between lines in metrics.jsonl")
    probes: int = Field(
        2, ge=0, le=20, description="val sentences whose attention is kept at each evaluation (look --film); 0 = none"
    )
    init: str = Field("", description="a run whose weights and tokenizers this one starts from")
    seed: int = Field(1, ge=0)
    device: str = Field("auto", description="auto (CUDA, then MPS, then CPU), cpu, cuda, cuda:1, mps")
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto",
        description="of products, whose sums are fp32 either way; auto = bf16 where the processor has it and the model "
        "is known to learn as well",
    )
    compile: bool = Field(
        False, description="torch.compile for the layers: some seconds at the start; rarely pays on a CPU"
    )
    threads: int = Field(0, ge=0, description="CPU threads; 0 = torch's own choice")
    workers: int = Field(
        0,
        ge=0,
        description="processes that share each batch on a CPU, a thread each; 0 = what a trial finds fastest, 1 = no sharing",
    )
