import type { FoldState } from '../fold/fold-state.ts';
import type { LogRecord } from '../protocol/record.ts';
import type { UiChunk } from './ui-chunk.ts';

/** The question about a call, and its answer. */
interface Denial {
  readonly requestReason?: string | undefined;
  readonly reason?: string | undefined;
}

/**
 * The calls of a session that a person denied. On the log, the result of a denied call is an error. In the AI
 * SDK, a denied call has its own state: `output-denied`.
 */
export class DeniedCalls {
  readonly #asked = new Map<string, string | undefined>();
  readonly #denied = new Map<string, Denial>();

  /** Reads the pending questions of a state. A reader that starts in the middle of a log needs them. */
  addAsked({ asked }: Pick<FoldState, 'asked'>): void {
    for (const { toolCallId, from, reason } of asked)
      if (from === undefined) this.#asked.set(toolCallId, reason);
  }

  /** Reads the next record of the session. */
  add({ fact }: LogRecord): void {
    if (fact?.type === 'approval_asked' && fact.from === undefined) {
      this.#asked.set(fact.toolCallId, fact.reason);
      this.#denied.delete(fact.toolCallId);
    }
    if (fact?.type !== 'approval_answered' || !this.#asked.has(fact.toolCallId)) return;
    const requestReason = this.#asked.get(fact.toolCallId);
    this.#asked.delete(fact.toolCallId);
    if (fact.decision === 'deny')
      this.#denied.set(fact.toolCallId, { requestReason, reason: fact.reason });
  }

  /** Changes the chunks of a stream that already contains the question and its answer. */
  continued(chunks: readonly UiChunk[]): readonly UiChunk[] {
    if (this.#denied.size === 0) return chunks;
    return chunks.map((chunk) => (this.#isDenied(chunk) ? deniedOutput(chunk.toolCallId) : chunk));
  }

  /** Changes the chunks of a message that is sent again from its start. Adds the question and its answer. */
  restated(chunks: readonly UiChunk[]): readonly UiChunk[] {
    if (this.#denied.size === 0) return chunks;
    return chunks.flatMap((chunk): readonly UiChunk[] => {
      if (!this.#isDenied(chunk)) return [chunk];
      const { toolCallId } = chunk;
      const { requestReason, reason } = this.#denied.get(toolCallId) ?? {};
      const asked = requestReason === undefined ? {} : { reason: requestReason };
      const answered = reason === undefined ? {} : { reason };
      const approvalId = toolCallId;
      return [
        { type: 'tool-approval-request', toolCallId, approvalId, ...asked },
        { type: 'tool-approval-response', approvalId, approved: false, ...answered },
        deniedOutput(toolCallId),
      ];
    });
  }

  #isDenied(chunk: UiChunk): chunk is Extract<UiChunk, { readonly type: 'tool-output-error' }> {
    return chunk.type === 'tool-output-error' && this.#denied.has(chunk.toolCallId);
  }
}

function deniedOutput(toolCallId: string): UiChunk {
  return { type: 'tool-output-denied', toolCallId };
}
