"""A task of its own, with model, data, predictor and command, as it would stand inside jumok: one file each."""

from jumok.catalogue import TaskEntry

COUNTING = TaskEntry(  # a row of the catalogue; a recipe may name it: task = "toy_task:COUNTING"
    "how many bits are set",
    task="toy_task.task:Counting",
    predictor="toy_task.predictor:BitsCounter",
    report="toy_task.predictor:report",
)
