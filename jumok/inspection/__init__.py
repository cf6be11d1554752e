"""Look at the attention of any model: observe, record, attention details, ablation."""
