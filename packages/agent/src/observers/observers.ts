import type { AgentEvent, LogRecord } from '@millrace/core';
import type { Clock } from '@millrace/providers';
import { AgentError } from '../contract/agent-error.ts';
import type { ObservedRun, Observer } from '../contract/observer.ts';

interface ObserversOptions {
  /** Called once per error message if an observer throws, and if an observer is slow. */
  readonly onDiagnostic?: ((problem: string, record: LogRecord) => void) | undefined;
  /** Reports an observer that takes longer than this for one record. Default: 50 ms. */
  readonly slowMs?: number | undefined;
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /** For tests: freezes the arguments, so that an observer that modifies them throws. */
  readonly freeze?: boolean | undefined;
}

const defaultSlowMs = 50;
/**
 * Messages may contain ids, so each may be new. After this many, the observer's errors are no
 * longer reported.
 */
const maxMessages = 100;

interface ObserverEntry {
  readonly observer: Observer;
  readonly name: string;
  /** Error messages that were already reported. */
  readonly messages: Set<string>;
  /** The observer is reported again only if it takes longer than this. */
  slowMs: number;
}

/**
 * Calls several observers for each record, inline and in registration order. All observers get all
 * records in the same order, even if one of them throws.
 */
export class Observers {
  readonly #entries: readonly ObserverEntry[];
  readonly #clock: Pick<Clock, 'now'>;
  readonly #freezes: boolean;
  readonly #onDiagnostic: (problem: string, record: LogRecord) => void;
  /** Records that arrived during a notification, because an observer caused them. */
  readonly #next: Parameters<Observer>[] = [];
  #isNotifying = false;

  constructor(observers: readonly Observer[], options: ObserversOptions = {}) {
    const { slowMs = defaultSlowMs, clock = performance, freeze = false } = options;
    if (!(slowMs >= 0)) throw badSlowMs(slowMs);
    this.#entries = observers.map((observer, at) => ({
      observer,
      name: observer.name === '' ? `Observer ${at + 1}` : `Observer ${at + 1} (${observer.name})`,
      messages: new Set(),
      slowMs,
    }));
    this.#clock = clock;
    this.#freezes = freeze;
    this.#onDiagnostic = options.onDiagnostic ?? (() => {});
  }

  notify(record: LogRecord, events: readonly AgentEvent[], run?: ObservedRun): void {
    if (this.#entries.length === 0) return;
    if (this.#isNotifying) {
      this.#next.push([record, events, run]);
      return;
    }
    this.#isNotifying = true;
    try {
      this.#notifyAll(record, events, run);
      for (let next = this.#next.shift(); next !== undefined; next = this.#next.shift()) {
        this.#notifyAll(...next);
      }
    } finally {
      this.#isNotifying = false;
    }
  }

  #notifyAll(record: LogRecord, events: readonly AgentEvent[], run?: ObservedRun): void {
    if (this.#freezes) deepFreeze([record, events, run]);
    let since = this.#clock.now();
    for (const entry of this.#entries) {
      this.#notifyOne(entry, record, events, run);
      const now = this.#clock.now();
      this.#checkPace(entry, now - since, record);
      since = now;
    }
  }

  #notifyOne(
    entry: ObserverEntry,
    record: LogRecord,
    events: readonly AgentEvent[],
    run: ObservedRun | undefined,
  ): void {
    try {
      const returned: unknown = entry.observer(record, events, run);
      // TypeScript accepts an async function as an observer. Without this, its rejection would be
      // unhandled.
      if (returned instanceof Promise)
        returned.catch((error: unknown) => this.#reportThrow(entry, error, record));
    } catch (error) {
      this.#reportThrow(entry, error, record);
    }
  }

  #reportThrow({ name, messages }: ObserverEntry, error: unknown, record: LogRecord): void {
    const message = error instanceof Error ? error.message : `a ${typeof error}`;
    if (messages.has(message) || messages.size > maxMessages) return;
    messages.add(message);
    const isLast = messages.size > maxMessages;
    this.#report(
      `${name} threw: ${isLast ? 'too many different errors; no more are reported' : message}`,
      record,
    );
  }

  #checkPace(entry: ObserverEntry, elapsedMs: number, record: LogRecord): void {
    if (!(elapsedMs > entry.slowMs)) return;
    // An observer that is always slow is not reported for each record.
    entry.slowMs = elapsedMs * 2;
    const took = `took ${Math.round(elapsedMs)} ms for one record`;
    this.#report(`${entry.name} ${took}, and the run waited for it`, record);
  }

  #report(problem: string, record: LogRecord): void {
    try {
      this.#onDiagnostic(problem, record);
    } catch {
      // Nothing is left to report to, and the run must continue.
    }
  }
}

function badSlowMs(slowMs: number): AgentError {
  const message = `Cannot report observers slower than ${slowMs} ms: slowMs must be at least 0`;
  return new AgentError('bad_option', message, { slowMs });
}

/** Freezes a value and everything in it. */
function deepFreeze<T>(value: T): T {
  // Typed arrays cannot be frozen.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
