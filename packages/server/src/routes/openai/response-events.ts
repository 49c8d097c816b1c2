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

/**
 * Yields the events of a response up to its end. All readers of a response share one view. `after` is the number of the
 * last event that the reader has. Default: the reader has none.
 */
export async function* eventsOf(
  opened: OpenedResponse,
  { log }: { readonly log: Log },
  signal: AbortSignal,
  after = -1,
): AsyncGenerator<ResponseEvent> {
  const responses = responsesOf.get(log) ?? new Map<string, ResponseEvents>();
  responsesOf.set(log, responses);
  const id = responseId(opened.question);
  const known = responses.get(id);
  if (known?.parkedAt !== undefined) {
    // A person may have refused the answer after the end of the response. New readers then need a new view.
    const { through } = (await log.info(opened.question.taskId)) ?? {};
    if (known.parkedAt !== through && responses.get(id) === known) responses.delete(id);
  }
  const onUnused = (unused: ResponseEvents) => {
    if (responses.get(id) === unused) responses.delete(id);
  };
  const events = responses.get(id) ?? new ResponseEvents(opened, log, onUnused);
  responses.set(id, events);
  yield* events.read(signal, after);
}

/**
 * The events of a response that is read from the log once, for all its readers. The state of a session contains
 * its messages, so a state for each reader would fill the memory.
 */
class ResponseEvents {
  readonly #opened: OpenedResponse;
  readonly #view: ResponseView;
  readonly #log: Log;
  readonly #onUnused: (unused: ResponseEvents) => void;
  readonly #events: ResponseEvent[] = [];
  readonly #unused = new AbortController();
  #readers = 0;
  #parkedAt: number | undefined;
  #end: { readonly failure?: unknown } | undefined;
  #changed = Promise.withResolvers<void>();

  /** `onUnused` is called when the last reader leaves. */
  constructor(opened: OpenedResponse, log: Log, onUnused: (unused: ResponseEvents) => void) {
    this.#opened = opened;
    this.#view = new ResponseView(opened.question, opened.agent);
    this.#log = log;
    this.#onUnused = onUnused;
    void this.#follow();
  }

  /** The end of the log when the response ended with a question. Undefined for a response without this end. */
  get parkedAt(): number | undefined {
    return this.#parkedAt;
  }

  async *read(signal: AbortSignal, after: number): AsyncGenerator<ResponseEvent> {
    this.#readers++;
    const items = new ReadItems(this.#view, after);
    const onAbort = () => this.#wake();
    signal.addEventListener('abort', onAbort);
    try {
      for (let at = 0; !signal.aborted; ) {
        const event = this.#events[at];
        if (event !== undefined) {
          at++;
          const shown = items.add(event);
          if (shown !== undefined && event.sequence_number > after) yield shown;
        } else if (this.#end === undefined) await this.#changed.promise;
        else if ('failure' in this.#end) throw this.#end.failure;
        else return;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (--this.#readers === 0) {
        this.#onUnused(this);
        this.#unused.abort();
      }
    }
  }

  async #follow(): Promise<void> {
    const { question } = this.#opened;
    const { signal } = this.#unused;
    const view = this.#view;
    try {
      this.#add(view.created());
      const { through: before } = (await this.#log.info(question.taskId)) ?? {};
      const { response, steps } = await openStored(question, this.#log);
      for (const step of steps) this.#add(view.add(step));
      const isStored = response.end !== undefined;
      if (!isStored)
        for await (const more of response.follow(signal))
          for (const step of more) this.#add(view.add(step));
      if (response.end?.stop.reason === 'parked')
        this.#parkedAt = isStored ? before : response.state.through;
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

/**
 * The output items of one reader. It leaves out items that a guardrail refused before the reader got them. The
 * stored events do not change, so the numbers of the other events stay the same.
 */
class ReadItems {
  readonly #view: ResponseView;
  readonly #after: number;
  readonly #refused = new Set<number>();
  /** The number of items of which the reader gets nothing. Later items move up, as clients expect. */
  #unseen = 0;
  /** The indexes that the reader gets, by the indexes in the view. */
  readonly #indexes = new Map<number, number>();

  constructor(view: ResponseView, after: number) {
    this.#view = view;
    this.#after = after;
  }

  /** Returns the event as the reader gets it. Returns undefined if the event belongs to a refused item. */
  add(event: ResponseEvent): ResponseEvent | undefined {
    const { type, output_index: index, sequence_number: number } = event;
    if (index === undefined) return event;
    if (type === 'response.output_item.added') {
      if (this.#view.isWithheld(index)) {
        this.#refused.add(index);
        if (number > this.#after) this.#unseen++;
      }
      this.#indexes.set(index, index - this.#unseen);
    }
    if (this.#refused.has(index)) return undefined;
    return { ...event, output_index: this.#indexes.get(index) ?? index };
  }
}
