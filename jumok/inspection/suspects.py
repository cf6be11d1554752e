"""What is said where a model was called and nothing of it was recognised, or not all of it can be.

modules whose class or children are named like attention's → a sentence with the two lines that mark their weights
"""

import re
from collections.abc import Sequence

from torch import nn

from jumok.inspection.record import name_of

MOST = 4  # modules that a sentence names
_ROLES = r"(?:to|w|lin|linear|proj|fc)?(?:{})(?:proj|projection|lin|linear|layer|net|w|s)?"
_QUERY, _KEY = (re.compile(_ROLES.format(names)) for names in ("q|query|queries", "k|key|keys"))
_TOGETHER = re.compile(_ROLES.format("qkv|querykeyvalue|cattn|kv|qk|inproj"))


def looks_like_attention(module: nn.Module) -> bool:
    """Return whether a module's class is named like attention, or its children like queries and keys."""
    if re.search("attention|attn", type(module).__name__, re.IGNORECASE):
        return True
    names = [re.sub(r"[^a-z]", "", name.lower()) for name, _ in module.named_children()]
    apart = any(map(_QUERY.fullmatch, names)) and any(map(_KEY.fullmatch, names))
    return apart or any(map(_TOGETHER.fullmatch, names))


def find_suspects(model: nn.Module) -> list[str]:
    """Return the names of the innermost modules that look like attention."""
    found = {path: module for path, module in model.named_modules() if looks_like_attention(module)}
    inside = [
        path for path in found if not any(other.startswith(f"{path}.") or (not path and other) for other in found)
    ]
    return [name_of(found[path], path) for path in inside]


def explain_emptiness(model: nn.Module) -> str:
    """Return why the record of a model that was called is empty, and what to do."""
    suspects = find_suspects(model)
    if not suspects:
        which, where = "No module looks like attention", "where the model computes them"
    else:
        which = f"{name_some(suspects)} {'look' if len(suspects) > 1 else 'looks'} like attention"
        where = "in the forward there"
    return (
        f"no attention was recorded of {type(model).__name__}: it has no attention layers of torch, transformers or jumok "
        f"and does not call F.scaled_dot_product_attention. {which}; to record its weights (B, H, Q, K), mark them {where}, "
        "behind the softmax: `from jumok import watch` and `weights = watch(weights)`"
    )


def name_some(names: Sequence[str]) -> str:
    """Return the first names, and how many there are beside them."""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
