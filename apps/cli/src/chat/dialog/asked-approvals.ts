import type { PendingApproval } from '../contract/dialog.ts';

/** Asks the user about an approval. The signal aborts if the approval is answered elsewhere. */
type Ask = (approval: PendingApproval, signal: AbortSignal) => void;

/** The approvals about which the user is being asked, so that each of them is asked once. */
export class AskedApprovals {
  readonly #open = new Map<string, AbortController>();

  /** Calls `ask` for new approvals, and aborts the questions about approvals that no longer wait. */
  update(waiting: readonly PendingApproval[], ask: Ask): void {
    const keys = new Set(waiting.map(keyOf));
    for (const [key, controller] of this.#open)
      if (!keys.has(key)) {
        this.#open.delete(key);
        controller.abort();
      }
    for (const approval of waiting) {
      if (this.#open.has(keyOf(approval))) continue;
      const controller = new AbortController();
      this.#open.set(keyOf(approval), controller);
      ask(approval, controller.signal);
    }
  }
}

function keyOf({ session, id }: PendingApproval): string {
  return `${session} ${id}`;
}
