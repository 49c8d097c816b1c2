import type { AgentEvent, LogRecord } from '@millrace/core';
import type { Clock } from '@millrace/providers';
import { AgentError } from '../contract/agent-error.ts';
import type { ObservedRun, Observer } from '../contract/observer.ts';

interface ObserversOptions {
  /**
   * Called if an observer is slow, and if an observer throws. The same error message is reported only once.
   */
  readonly onDiagnostic?: ((problem: string, record: LogRecord) => void) | undefined;
  /** The time limit of an observer for one record. A slower observer is reported. Default: 50 ms. */
  readonly slowMs?: number | undefined;
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /** For tests: freezes the arguments, so that an observer throws when it modifies them. */
  readonly freeze?: boolean | undefined;
}

const defaultSlowMs = 50;
/**
 * Maximum number of different error messages that are reported for one observer. Without this limit, messages
 * with changing ids would be reported without end.
 */
const maxMessages = 100;

interface ObserverEntry {
  readonly observer: Observer;
  readonly name: string;
  /** Error messages that were already reported. */
  readonly messages: Set<string>;
  /** The observer is reported as slow if it takes longer than this. */
  slowMs: number;
}

/**
 * Calls several observers for each record, in registration order, and waits for each call to return. All
 * observers get all records in the same order, even if one observer throws.
 */
export class Observers {
  readonly #entries: readonly ObserverEntry[];
  readonly #clock: Pick<Clock, 'now'>;
  readonly #freezes: boolean;
  readonly #onDiagnostic: (problem: string, record: LogRecord) => void;
  /**
   * The records that observers caused while the observers were being called. They are processed afterwards.
   */
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

  /** A function that calls `notify`. It ignores deltas if no observer needs them. */
  get observe(): Observer {
    const ignoresDeltas = this.#entries.every(({ observer }) => observer.ignoresDeltas === true);
    const observe = (...given: Parameters<Observer>) => this.notify(...given);
    return Object.assign(observe, { ignoresDeltas });
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
      if (record.fact === undefined && entry.observer.ignoresDeltas === true) continue;
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
      // TypeScript accepts an async function as an observer. Without this line, an error in such a function
      // would be an unhandled rejection.
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
    // The limit is raised to twice this duration, so an observer that is always slow is not reported for each
    // record.
    entry.slowMs = elapsedMs * 2;
    const took = `took ${Math.round(elapsedMs)} ms for one record`;
    this.#report(`${entry.name} ${took}, and the run waited for it`, record);
  }

  #report(problem: string, record: LogRecord): void {
    try {
      this.#onDiagnostic(problem, record);
    } catch {
      // The callback itself threw, so there is no way to report the problem. The run must continue.
    }
  }
}

function badSlowMs(slowMs: number): AgentError {
  const message = `Cannot report observers slower than ${slowMs} ms: slowMs must be at least 0`;
  return new AgentError('bad_option', message, { slowMs });
}

/** Freezes a value and all nested values. */
function deepFreeze<T>(value: T): T {
  // Typed arrays cannot be frozen.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
