import type { AgentEvent } from '@millrace/core';

/**
 * Marks a gap in the events. The channel dropped events there, because they arrived faster than the reader
 * read them.
 */
export interface DroppedEvents {
  readonly type: 'dropped';
  /** Number of dropped content events. The log still has the content. */
  readonly content: number;
  /** Number of dropped facts. */
  readonly facts: number;
}

/**
 * The order in which the buffer drops events. Lower ranks are dropped first. 0: appends. 1: starts and ends
 * of parts. 2: facts.
 */
type DropRank = 0 | 1 | 2;
const factRank = 2;

interface Entry {
  /** The position of the event in the sequence of all events. */
  readonly position: number;
  /** The number of events that were joined into this entry. */
  count: number;
  event: AgentEvent;
}

/**
 * A bounded queue of events for one reader. When the queue is full, it joins adjacent appends to the same
 * part. If this does not free enough space, it drops the oldest events and counts them.
 */
export class ChannelBuffer {
  readonly #maxEvents: number;
  #ranks: readonly [Fifo<Entry>, Fifo<Entry>, Fifo<Entry>] = emptyRanks();
  #nextPosition = 0;
  /** The newest entry. Undefined if the reader has read it or the buffer has dropped it. */
  #newest: Entry | undefined;
  /**
   * True from the moment when the queue is full until it is empty. During that time, new appends are joined
   * immediately.
   */
  #isBehind = false;
  /** The position of the first dropped event, and how many events were dropped. */
  #missing: (Omit<DroppedEvents, 'type'> & { readonly position: number }) | undefined;

  constructor(maxEvents: number) {
    this.#maxEvents = maxEvents;
  }

  get size(): number {
    return this.#ranks.reduce((sum, { size }) => sum + size, 0);
  }

  add(event: AgentEvent, isFact: boolean): void {
    const rank = isFact ? factRank : rankOf(event);
    const position = this.#nextPosition++;
    if (this.size >= this.#maxEvents) this.#fallBehind();
    if (this.#isBehind && this.#join(event)) return;
    if (this.size >= this.#maxEvents) {
      const lowest = this.#ranks.findIndex(({ size }) => size > 0);
      // All queued events have a higher rank than the new event, so the new event is dropped.
      if (lowest > rank) return this.#countDropped(rank, { position: position, count: 1, event });
      this.#dropOldest(lowest);
    }
    this.#newest = { position: position, count: 1, event };
    this.#ranks[rank].push(this.#newest);
  }

  /**
   * Removes and returns the next event. Where events were dropped, it returns a marker. Returns undefined if
   * the queue is empty.
   */
  take(): AgentEvent | DroppedEvents | undefined {
    const oldest = this.#ranks.reduce((a, b) => (isBefore(b.first, a.first) ? b : a));
    const missing = this.#missing;
    if (missing !== undefined && !(oldest.first && oldest.first.position < missing.position)) {
      this.#missing = undefined;
      return { type: 'dropped', content: missing.content, facts: missing.facts };
    }
    const entry = oldest.shift();
    if (entry === this.#newest) this.#newest = undefined;
    if (this.size === 0) this.#isBehind = false;
    return entry?.event;
  }

  /** Joins all queued appends. Later appends are joined when they arrive. */
  #fallBehind(): void {
    if (this.#isBehind) return;
    this.#isBehind = true;
    const [growth, ...others] = this.#ranks;
    const joined = new Fifo<Entry>();
    let last: Entry | undefined;
    for (let entry = growth.shift(); entry !== undefined; entry = growth.shift()) {
      if (last !== undefined && isNext(last, entry) && joinInto(last, entry.event)) {
        if (entry === this.#newest) this.#newest = last;
        continue;
      }
      last = entry;
      joined.push(entry);
    }
    this.#ranks = [joined, ...others];
  }

  #join(event: AgentEvent): boolean {
    return this.#newest !== undefined && joinInto(this.#newest, event);
  }

  #dropOldest(rank: number): void {
    const entry = this.#ranks[rank]?.shift();
    if (entry === undefined) return;
    if (entry === this.#newest) this.#newest = undefined;
    this.#countDropped(rank, entry);
  }

  #countDropped(rank: number, { position, count }: Entry): void {
    const { content = 0, facts = 0 } = this.#missing ?? {};
    this.#missing = {
      position: Math.min(position, this.#missing?.position ?? position),
      content: content + (rank === factRank ? 0 : count),
      facts: facts + (rank === factRank ? count : 0),
    };
  }
}

function emptyRanks(): readonly [Fifo<Entry>, Fifo<Entry>, Fifo<Entry>] {
  return [new Fifo(), new Fifo(), new Fifo()];
}

function isBefore(a: Entry | undefined, b: Entry | undefined): boolean {
  return a !== undefined && (b === undefined || a.position < b.position);
}

function isNext(first: Entry, second: Entry): boolean {
  return first.position + first.count === second.position;
}

function joinInto(entry: Entry, event: AgentEvent): boolean {
  const joined = joinAppends(entry.event, event);
  if (joined === undefined) return false;
  entry.event = joined;
  entry.count++;
  return true;
}

function rankOf({ type }: AgentEvent): DropRank {
  switch (type) {
    case 'part_started':
    case 'tool_call_started':
    case 'tool_call_ready':
    case 'part_finished':
    case 'part_retracted':
      return 1;
    default:
      return 0;
  }
}

/** An event that appends to a part. */
export type AppendEvent = Extract<AgentEvent, { readonly at: number }>;

/** Maximum length of a joined event, in characters or bytes. */
export const maxJoinedLength: number = 2 ** 16;

/**
 * Joins two appends if the second continues the first. The result has the log offset of the second append.
 * Returns undefined if they cannot be joined.
 */
export function joinAppends(first: AgentEvent, second: AgentEvent): AppendEvent | undefined {
  if (!isAppend(first) || !isAppend(second) || !follows(first, second)) return undefined;
  const { at } = first;
  const added = addedBy(first);
  switch (second.type) {
    case 'tool_call_arguments_delta':
      return { ...second, at, delta: `${added}${second.delta}` };
    case 'media_delta':
      return { ...second, at, bytes: joinBytes(added, second.bytes) };
    default:
      return { ...second, at, text: `${added}${second.text}` };
  }
}

function isAppend(event: AgentEvent): event is AppendEvent {
  return 'at' in event;
}

function follows(first: AppendEvent, second: AppendEvent): boolean {
  const length = addedBy(first).length;
  return (
    first.partId === second.partId &&
    first.session === second.session &&
    first.type === second.type &&
    first.at + length === second.at &&
    length + addedBy(second).length <= maxJoinedLength
  );
}

function addedBy(event: AppendEvent): string | Uint8Array {
  switch (event.type) {
    case 'tool_call_arguments_delta':
      return event.delta;
    case 'media_delta':
      return event.bytes;
    default:
      return event.text;
  }
}

function joinBytes(first: string | Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  if (typeof first !== 'string') bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

/** Maximum number of empty entries at the start of the array. Above this number, the array is shortened. */
const maxEmpty = 1024;

/** A first-in, first-out queue. Each operation takes constant time, whatever the length of the queue. */
export class Fifo<T> {
  #entries: (T | undefined)[] = [];
  #taken = 0;

  get size(): number {
    return this.#entries.length - this.#taken;
  }

  get first(): T | undefined {
    return this.#entries[this.#taken];
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  shift(): T | undefined {
    const { first } = this;
    if (this.size === 0) return undefined;
    // This releases the entry for garbage collection.
    this.#entries[this.#taken++] = undefined;
    if (this.size === 0 || (this.#taken > maxEmpty && this.#taken > this.size)) {
      this.#entries.splice(0, this.#taken);
      this.#taken = 0;
    }
    return first;
  }
}
