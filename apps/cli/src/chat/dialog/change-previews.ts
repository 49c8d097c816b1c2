import type { ChangePreview } from '@millrace/tools';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';

/** The previews of requested file changes. Each one is computed once. */
export class ChangePreviews {
  readonly #preview: BuiltAgent['preview'];
  readonly #onChange: () => void;
  readonly #known = new WeakMap<PendingApproval, { readonly preview: ChangePreview | undefined }>();

  constructor(preview: BuiltAgent['preview'], onChange: () => void) {
    this.#preview = preview;
    this.#onChange = onChange;
  }

  /** Returns undefined until the preview is computed, or if it cannot be. */
  readonly previewOf = (approval: PendingApproval): ChangePreview | undefined => {
    const known = this.#known.get(approval);
    if (known === undefined) void this.#look(approval);
    return known?.preview;
  };

  async #look(approval: PendingApproval): Promise<void> {
    this.#known.set(approval, { preview: undefined });
    const { name: tool, input } = approval;
    const preview = await this.#preview({ tool, input }).catch(() => undefined);
    if (preview === undefined) return;
    this.#known.set(approval, { preview });
    this.#onChange();
  }
}
