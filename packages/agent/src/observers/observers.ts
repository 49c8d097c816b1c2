import type { AgentEvent, LogRecord } from '@millrace/core';
import type { Clock } from '@millrace/providers';
import { AgentError } from '../contract/agent-error.ts';
import type { ObservedRun, Observer } from '../contract/observer.ts';

interface ObserversOptions {
  /** Hears of an observer that throws, once for each message, and of one that is slow. */
  readonly onDiagnostic?: ((problem: string, record: LogRecord) => void) | undefined;
  /** One that takes longer than this for a record is reported. */
  readonly slowMs?: number | undefined;
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /** For tests: an observer that changes what it is told throws. */
  readonly freeze?: boolean | undefined;
}

const defaultSlowMs = 50;
/** Messages may have ids in them, so that each is new; after so many an observer is heard no more. */
const maxMessages = 100;

interface ObserverEntry {
  readonly observer: Observer;
  readonly name: string;
  /** What it threw and was reported for. */
  readonly messages: Set<string>;
  /** What it is reported for only when it takes longer still. */
  slowMs: number;
}

/**
 * Tells several observers of each record, inline and in the order they were given in. Whatever one of
 * them does, all hear all records, in one order.
 */
export class Observers {
  readonly #entries: readonly ObserverEntry[];
  readonly #clock: Pick<Clock, 'now'>;
  readonly #freezes: boolean;
  readonly #onDiagnostic: (problem: string, record: LogRecord) => void;
  /** What came while observers were being told: one of them made it happen. */
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
    this.#next.push([record, events, run]);
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    try {
      for (let next = this.#next.shift(); next !== undefined; next = this.#next.shift()) {
        this.#notifyAll(next);
      }
    } finally {
      this.#isNotifying = false;
    }
  }

  #notifyAll(told: Parameters<Observer>): void {
    const [record] = told;
    if (this.#freezes) deepFreeze(told);
    let since = this.#clock.now();
    for (const listener of this.#entries) {
      this.#notifyOne(listener, told);
      const now = this.#clock.now();
      this.#checkPace(listener, now - since, record);
      since = now;
    }
  }

  #notifyOne(listener: ObserverEntry, told: Parameters<Observer>): void {
    const [record] = told;
    try {
      const returned: unknown = listener.observer(...told);
      // An async function passes for an observer; nobody else would hear that it failed.
      if (returned instanceof Promise)
        returned.catch((error: unknown) => this.#reportThrow(listener, error, record));
    } catch (error) {
      this.#reportThrow(listener, error, record);
    }
  }

  #reportThrow({ name, messages }: ObserverEntry, error: unknown, record: LogRecord): void {
    const message = error instanceof Error ? error.message : `a ${typeof error}`;
    if (messages.has(message) || messages.size > maxMessages) return;
    messages.add(message);
    const isLast = messages.size > maxMessages;
    this.#report(`${name} threw: ${isLast ? 'too much to report any more' : message}`, record);
  }

  #checkPace(listener: ObserverEntry, elapsedMs: number, record: LogRecord): void {
    if (!(elapsedMs > listener.slowMs)) return;
    // One that is always slow is not reported for each record.
    listener.slowMs = elapsedMs * 2;
    const took = `took ${Math.round(elapsedMs)} ms for one record`;
    this.#report(`${listener.name} ${took}, and the run waited for it`, record);
  }

  #report(problem: string, record: LogRecord): void {
    try {
      this.#onDiagnostic(problem, record);
    } catch {
      // Nobody is left to tell, and the run is not to blame.
    }
  }
}

function badSlowMs(slowMs: number): AgentError {
  const message = `Cannot report observers slower than ${slowMs} ms: slowMs is 0 or more`;
  return new AgentError('bad_option', message, { slowMs });
}

/** Freezes a value and all that it holds, so that whoever changes a part of it throws. */
function deepFreeze<T>(value: T): T {
  // Bytes cannot be frozen.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
