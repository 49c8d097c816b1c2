import type { Log } from '@millrace/log';
import { openStored, type Question } from './response-log.ts';
import { responseId } from './response-starts.ts';
import { type ResponseEvent, ResponseView } from './response-view.ts';

/** A response that is being read. */
export interface OpenedResponse {
  readonly question: Question;
  /** The name of the agent. */
  readonly agent: string;
}

/** The responses that have readers, by their ids. */
const responsesOf = new WeakMap<Log, Map<string, ResponseEvents>>();

/** Yields all events of a response, from its start to its end. All readers of a response share one view. */
export async function* eventsOf(
  opened: OpenedResponse,
  { log }: { readonly log: Log },
  signal: AbortSignal,
): AsyncGenerator<ResponseEvent> {
  const responses = responsesOf.get(log) ?? new Map<string, ResponseEvents>();
  responsesOf.set(log, responses);
  const id = responseId(opened.question);
  const events = responses.get(id) ?? new ResponseEvents(opened, log, () => responses.delete(id));
  responses.set(id, events);
  yield* events.read(signal);
}

/**
 * The events of a response that is read from the log once, for all its readers. The state of a session contains
 * its messages, so a state for each reader would fill the memory.
 */
class ResponseEvents {
  readonly #opened: OpenedResponse;
  readonly #log: Log;
  readonly #onUnused: () => void;
  readonly #events: ResponseEvent[] = [];
  readonly #unused = new AbortController();
  #readers = 0;
  #end: { readonly failure?: unknown } | undefined;
  #changed = Promise.withResolvers<void>();

  /** `onUnused` is called when the last reader leaves. */
  constructor(opened: OpenedResponse, log: Log, onUnused: () => void) {
    this.#opened = opened;
    this.#log = log;
    this.#onUnused = onUnused;
    void this.#follow();
  }

  async *read(signal: AbortSignal): AsyncGenerator<ResponseEvent> {
    this.#readers++;
    const onAbort = () => this.#wake();
    signal.addEventListener('abort', onAbort);
    try {
      for (let at = 0; !signal.aborted; ) {
        const event = this.#events[at];
        if (event !== undefined) {
          at++;
          yield event;
        } else if (this.#end === undefined) await this.#changed.promise;
        else if ('failure' in this.#end) throw this.#end.failure;
        else return;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (--this.#readers === 0) {
        this.#onUnused();
        this.#unused.abort();
      }
    }
  }

  async #follow(): Promise<void> {
    const { question, agent } = this.#opened;
    const { signal } = this.#unused;
    try {
      const view = new ResponseView(question, agent);
      this.#add(view.created());
      const { response, steps } = await openStored(question, this.#log);
      for (const step of steps) this.#add(view.add(step));
      if (response.end === undefined)
        for await (const more of response.follow(signal))
          for (const step of more) this.#add(view.add(step));
      this.#end = {};
    } catch (failure) {
      this.#end = { failure };
    }
    this.#wake();
  }

  #add(events: readonly ResponseEvent[]): void {
    if (events.length === 0) return;
    this.#events.push(...events);
    this.#wake();
  }

  /** Continues all readers that wait. */
  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}
