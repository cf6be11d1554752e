"""Scores of image codes as people read them: PSNR and SSIM beside floors, and how many codes are put to use.

label of a corpus, split, scores → ScoreReport
"""

import math

from jumok.errors import are, counted
from jumok.evaluation.reports import ScoreReport, Scores, ScoreTable

FEW = 0.5  # share of codes; where fewer are used, a vocabulary is too large or training too short


def codes_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report how like the images are that codes tell, and what each code says."""
    down, across = scores["grid"]
    floors = scores["floors"]
    lines = [
        f"{label} ({split}), {counted(scores['images'], 'image')} of {scores['size']} × {scores['size']} pixels, "
        f"{down} × {across} codes each",
        f"  PSNR {scores['psnr']:.2f} dB   SSIM {scores['ssim']:.3f}   loss {scores['loss']:.4f}",
        f"  codes used {scores['used']:.1%} of {scores['codes']:,}   bits per code {scores['bits']:.2f} of "
        f"{math.log2(scores['codes']):.2f}",
    ]
    if scores.get("broken"):
        lines.append(f"  {counted(scores['broken'], 'image')} cannot be used and {are(scores['broken'])} left out")
    if scores["psnr"] <= floors["shrunk"]["psnr"]:
        lines.append(
            f"  warning: {down} × {across} pixels of each image would tell as much; train longer, or raise "
            "training.learning_rate"
        )
    elif scores["used"] < FEW:
        lines.append("  warning: most codes are never used; train longer, or take fewer: model.levels or model.codes")
    compared = {
        "this model": scores,
        "as many pixels as codes": floors["shrunk"],
        "the mean colour": floors["one_colour"],
    }
    rows = tuple((name, f"{found['psnr']:.2f}", f"{found['ssim']:.3f}") for name, found in compared.items())
    return ScoreReport(tuple(lines), ScoreTable(("", "PSNR", "SSIM"), rows))
