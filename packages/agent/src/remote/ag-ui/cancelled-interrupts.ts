import type { JsonObject } from '@millrace/core';
import { type AgUiConnection, runEvents } from './read-events.ts';

/** Maximum time for a run that cancels interrupts. After it, the connection is closed. */
const cancelTimeoutMs = 10_000;
/** Maximum number of threads whose cancelled interrupts are known. */
const maxThreads = 1000;

interface Cancellation {
  /** Closes the connection of the run that cancels the interrupts. */
  readonly closer: AbortController;
  /** The ids of the interrupts that the agent has cancelled. Empty until the agent has ended the run. */
  cancelled: readonly string[];
}

/**
 * Cancels the interrupts that have no answer when our run ends. Without this, the agent would wait for an answer until
 * the next message, which may never come.
 */
export class CancelledInterrupts {
  readonly #connection: AgUiConnection;
  /** The last cancellation of each thread. */
  readonly #threads = new Map<string, Cancellation>();

  constructor(connection: AgUiConnection) {
    this.#connection = connection;
  }

  /**
   * Sends a run that cancels interrupts, and ignores its events. It does not wait for the run, because our run is over.
   * If the run fails, the next message of the thread cancels the interrupts.
   */
  send(threadId: string, input: JsonObject, interrupts: readonly string[]): void {
    const closer = new AbortController();
    const cancellation: Cancellation = { closer, cancelled: [] };
    this.#threads.set(threadId, cancellation);
    const [oldest] = this.#threads.keys();
    if (this.#threads.size > maxThreads && oldest !== undefined) this.#close(oldest);
    const timer = setTimeout(() => closer.abort(), cancelTimeoutMs);
    this.#play({ ...input, resume: interrupts.map(cancelledEntry) }, closer.signal)
      .then((isOver) => {
        if (isOver) cancellation.cancelled = interrupts;
      })
      .catch(() => {})
      .finally(() => clearTimeout(timer));
  }

  /**
   * Returns the interrupts of the last message that the next run must cancel. A cancellation in progress is ended,
   * because the next run replaces it.
   */
  takeOpen(threadId: string, interrupts: readonly string[]): readonly string[] {
    const cancelled = new Set(this.#close(threadId)?.cancelled);
    return interrupts.filter((id) => !cancelled.has(id));
  }

  #close(threadId: string): Cancellation | undefined {
    const known = this.#threads.get(threadId);
    this.#threads.delete(threadId);
    known?.closer.abort();
    return known;
  }

  /** Returns true if the agent has ended the run. */
  async #play(input: JsonObject, signal: AbortSignal): Promise<boolean> {
    for await (const { type } of runEvents(this.#connection, input, signal))
      if (type === 'RUN_FINISHED' || type === 'RUN_ERROR') return type === 'RUN_FINISHED';
    return false;
  }
}

/** Returns the entry of `resume` that cancels an interrupt. */
export function cancelledEntry(interruptId: string): JsonObject {
  return { interruptId, status: 'cancelled' };
}
