import { type AgentEvent, type LogRecord, MillraceError } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import type { Observer } from '../contract/observer.ts';
import { assertKnownOptions } from '../known-options.ts';
import { ChannelBuffer, type DroppedEvents } from './channel-buffer.ts';

/** An event, or a marker for dropped events. */
export type ChannelEntry = AgentEvent | DroppedEvents;

/** Options of `channelObserver`. */
export interface ChannelOptions {
  /** Maximum number of events that are buffered for a slow reader. Default: 1024. */
  readonly maxEvents?: number | undefined;
}

/** An observer whose events one reader can iterate over. A slow reader never blocks the run. */
export interface ChannelObserver extends AsyncIterable<ChannelEntry> {
  /** The observer function. Pass it to `observers`. */
  readonly observe: Observer;
  /** Ends the channel. The reader still gets the buffered events. */
  close(): void;
}

const defaultMaxEvents = 1024;

/**
 * Creates a channel: a bounded buffer of events for one reader.
 *
 * @example
 * ```ts
 * const channel = channelObserver({ maxEvents: 500 });
 * const agent = createAgent({ provider, observers: [channel.observe] });
 * for await (const event of channel) if (event.type === 'dropped') reload();
 * ```
 */
export function channelObserver(options: ChannelOptions = {}): ChannelObserver {
  assertKnownOptions('channelObserver', options, { maxEvents: true });
  const { maxEvents = defaultMaxEvents } = options;
  if (!(Number.isSafeInteger(maxEvents) && maxEvents > 0)) throw badBound(maxEvents);
  const channel = new Channel(maxEvents);
  return {
    observe: (record, events) => channel.add(record, events),
    close: () => channel.close(),
    [Symbol.asyncIterator]: () => channel.read(),
  };
}

type Read = IteratorResult<ChannelEntry, undefined>;
const end: Read = { done: true, value: undefined };

class Channel {
  #buffer: ChannelBuffer;
  /** The pending reads, which wait for an event. */
  readonly #waiting: ((read: Read) => void)[] = [];
  #isTaken = false;
  #isClosed = false;

  constructor(maxEvents: number) {
    this.#buffer = new ChannelBuffer(maxEvents);
  }

  add(record: LogRecord, events: readonly AgentEvent[]): void {
    if (this.#isClosed) return;
    for (const event of events) {
      this.#buffer.add(event, record.fact !== undefined);
      this.#serve();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const answer of this.#waiting.splice(0)) answer(end);
  }

  read(): AsyncIterator<ChannelEntry, undefined> {
    if (this.#isTaken) throw alreadyRead();
    this.#isTaken = true;
    return {
      next: () => this.#next(),
      return: async () => {
        this.close();
        // The reader has stopped, so replacing the buffer releases the events.
        this.#buffer = new ChannelBuffer(1);
        return end;
      },
    };
  }

  async #next(): Promise<Read> {
    const value = this.#buffer.take();
    if (value !== undefined) return { done: false, value };
    if (this.#isClosed) return end;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Passes the next event to a waiting read. */
  #serve(): void {
    const answer = this.#waiting.shift();
    if (answer === undefined) return;
    const value = this.#buffer.take();
    answer(value === undefined ? end : { done: false, value });
  }
}

function badBound(maxEvents: number): AgentError {
  const message = `Cannot create a channel for ${maxEvents} events: maxEvents must be an integer of at least 1`;
  return new AgentError('bad_option', message, { maxEvents });
}

function alreadyRead(): MillraceError {
  const message =
    'Cannot read a channel twice: it has one reader. Create a channel for each reader';
  return new MillraceError('channel_taken', message);
}
