"""TRL's GRPO trainer with one part replaced: how the log-probabilities of the answers' tokens are made."""

from typing import Any

import torch
from trl import GRPOTrainer

from rubric_anchors.train.logps import token_logps


class Trainer(GRPOTrainer):
    """`trl.GRPOTrainer` whose log-probabilities come from the model's own head (`rubric_anchors.train.logps`)."""

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **more: Any,
    ) -> Any:
        """As TRL's: log-probabilities [B, logits_to_keep], entropies or None, auxiliary loss or None.

        What is more than text (images, a mixture's load-balancing loss) goes to TRL's own.
        """
        if compute_aux_loss or any(value is not None for value in more.values()):
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy, compute_aux_loss, **more
            )
        size = batch_size or len(input_ids)
        parts = [
            self._text_logps(model, input_ids[at : at + size], attention_mask[at : at + size], logits_to_keep)
            for at in range(0, len(input_ids), size)
        ]
        logps = torch.cat([part[0] for part in parts])
        return logps, torch.cat([part[1] for part in parts]) if compute_entropy else None, None

    def _text_logps(
        self, model: Any, ids: torch.Tensor, mask: torch.Tensor, keep: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with self.accelerator.autocast():
            out = model(input_ids=ids, attention_mask=mask, logits_to_keep=keep + 1, use_cache=False)
        return token_logps(out.logits[:, -keep - 1 : -1], ids[:, -keep:], self.temperature)
