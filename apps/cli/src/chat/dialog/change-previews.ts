import type { ChangePreview } from '@millrace/tools';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';

/** What changes of files would do that are asked about: looked up once for each. */
export class Previews {
  readonly #preview: BuiltAgent['preview'];
  readonly #onChange: () => void;
  readonly #known = new WeakMap<PendingApproval, { readonly preview: ChangePreview | undefined }>();

  constructor(preview: BuiltAgent['preview'], onChange: () => void) {
    this.#preview = preview;
    this.#onChange = onChange;
  }

  /** Nothing as long as it is not known, or where it cannot be. */
  readonly of = (approval: PendingApproval): ChangePreview | undefined => {
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
