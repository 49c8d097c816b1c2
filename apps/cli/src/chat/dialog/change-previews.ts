import type { ChangePreview } from '@millrace/tools';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';

/** The previews of requested file changes, as the dialogs use them. */
export interface ApprovalPreviews {
  /**
   * Returns the preview of a call. Returns undefined if it is not computed yet, or if the call has
   * none.
   */
  of(approval: PendingApproval): ChangePreview | undefined;
  /** Returns true if the preview is computed, or if the call has none. */
  isReady(approval: PendingApproval): boolean;
  /**
   * Computes the preview again for the current content of the file, and returns it. Its `basis` belongs to this
   * content, also if the preview looks the same as before.
   */
  renew(approval: PendingApproval): Promise<ChangePreview | undefined>;
}

interface Known {
  readonly preview: ChangePreview | undefined;
  readonly isReady: boolean;
}

/**
 * Computes previews of file changes that wait for an approval. A preview becomes wrong when the
 * file changes. So it is computed again when a different call finishes, and before the user's
 * approval takes effect.
 */
export class ChangePreviews implements ApprovalPreviews {
  readonly #preview: BuiltAgent['preview'];
  readonly #onChange: () => void;
  readonly #known = new WeakMap<PendingApproval, Known>();

  constructor(preview: BuiltAgent['preview'], onChange: () => void) {
    this.#preview = preview;
    this.#onChange = onChange;
  }

  of(approval: PendingApproval): ChangePreview | undefined {
    const known = this.#known.get(approval);
    if (known === undefined) void this.renew(approval);
    return known?.preview;
  }

  isReady(approval: PendingApproval): boolean {
    return !changesFile(approval) || this.#known.get(approval)?.isReady === true;
  }

  async renew(approval: PendingApproval): Promise<ChangePreview | undefined> {
    const before = this.#known.get(approval) ?? { preview: undefined, isReady: false };
    this.#known.set(approval, before);
    const { name: tool, input, judged } = approval;
    const preview = await this.#preview({ tool, input }, judged).catch(() => undefined);
    // An unchanged preview stays the same object, so that the dialog is not drawn again and the
    // user need not read it again.
    const isSame = isSamePreview(this.#known.get(approval)?.preview, preview);
    const kept = isSame ? this.#known.get(approval)?.preview : preview;
    this.#known.set(approval, { preview: kept, isReady: true });
    if (!isSame) this.#onChange();
    return preview;
  }
}

/** Returns true if a call changes a file. Its effect depends on the content of the file. */
export function changesFile({ name }: Pick<PendingApproval, 'name'>): boolean {
  return name === 'edit' || name === 'write';
}

/** Returns true if both previews show the same. The files can differ in parts that the change does not show. */
export function isSamePreview(a: ChangePreview | undefined, b: ChangePreview | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof ChangePreview>;
  keys.delete('basis');
  return [...keys].every((key) => a[key] === b[key]);
}
