import { type JsonValue, parseJson } from '@millrace/core';
import { local, readStored, writeStored } from '../../app/browser-storage.ts';
import { failureWords, isUnreachable } from '../../server/api.ts';
import type { LiveSource, LiveSources } from '../state/live-source.ts';

export interface Delivered {
  /** When the page shows it otherwise. */
  readonly seen: Promise<void>;
}

interface OutboxOptions {
  /** Resolves when the server has it. The same key counts once. */
  readonly deliver: (message: OutMessage) => Promise<Delivered>;
  readonly newKey: () => string;
  /** In ms since 1970. */
  readonly now: () => number;
  /** Where it is kept; what all tabs of the browser share unless told. */
  readonly storage?: (() => Storage) | undefined;
}

/** What was said longer ago is not sent unasked when the page is opened again. */
const freshMs = 10 * 60_000;
const stored = 'outbox';
const none: readonly OutMessage[] = [];

/**
 * What was said, until the server has it: kept by the browser, so that neither a reload nor a server
 * that is away loses it. A session's messages are sent one after the other.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #storage: () => Storage;
  readonly #listeners = new Set<() => void>();
  readonly #busy = new Set<string>();
  /** Those that failed because nobody answered, since the page was opened. */
  readonly #unanswered = new Set<string>();
  #isResumed = false;
  #byTask: ReadonlyMap<string, readonly OutMessage[]> = new Map();

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#storage = options.storage ?? local;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The same list until it changes. */
  of(task: string): readonly OutMessage[] {
    return this.#byTask.get(task) ?? none;
  }

  /** Takes up what an earlier page could not send. */
  resume(): void {
    if (this.#isResumed) return;
    this.#isResumed = true;
    const kept = readMessages(readStored(this.#storage, stored)).map((message): OutMessage => {
      const isFresh = Math.abs(this.#options.now() - message.at) <= freshMs;
      if (message.state === 'failed' || isFresh) return message;
      return { ...message, state: 'failed', error: 'The page was closed before.' };
    });
    this.#byTask = Map.groupBy(kept, ({ task }) => task);
    for (const task of this.#byTask.keys()) void this.#work(task);
    this.#tell();
  }

  /** Says whether it was taken: there is room for so many. */
  add(task: string, text: string, when: OutMessage['when']): boolean {
    const { newKey, now } = this.#options;
    const count = [...this.#byTask.values()].reduce((sum, { length }) => sum + length, 0);
    if (count >= maxMessages) return false;
    const message: OutMessage = { task, text, when, key: newKey(), at: now(), state: 'sending' };
    this.#set(task, [...this.of(task), message]);
    this.#keep(message.key, message);
    void this.#work(task);
    return true;
  }

  retry({ task, key }: OutMessage): void {
    const again = this.of(task).find((one) => one.key === key && one.state === 'failed');
    if (again === undefined) return;
    const { error: _, ...message } = again;
    this.#replace({ ...message, state: 'sending', at: this.#options.now() });
    void this.#work(task);
  }

  /** The server answers again: what failed because it did not is sent now. */
  retryUnanswered(task: string): void {
    for (const message of this.of(task)) if (this.#unanswered.has(message.key)) this.retry(message);
  }

  /** It is not to be sent any more. */
  remove({ task, key }: OutMessage): void {
    this.#unanswered.delete(key);
    this.#keep(key, undefined);
    this.#set(
      task,
      this.of(task).filter((one) => one.key !== key),
    );
  }

  async #work(task: string): Promise<void> {
    if (this.#busy.has(task)) return;
    this.#busy.add(task);
    const next = () => this.of(task).find(({ state }) => state === 'sending');
    for (let message = next(); message !== undefined; message = next()) await this.#send(message);
    this.#busy.delete(task);
  }

  async #send(message: OutMessage): Promise<void> {
    this.#unanswered.delete(message.key);
    try {
      const { seen } = await this.#options.deliver(message);
      this.#keep(message.key, undefined);
      this.#replace({ ...message, state: 'sent' });
      void seen.catch(() => {}).then(() => this.remove(message));
    } catch (reason) {
      if (isUnreachable(reason)) this.#unanswered.add(message.key);
      const failed: OutMessage = { ...message, state: 'failed', error: failureWords(reason) };
      this.#replace(failed);
      this.#keep(message.key, failed);
    }
  }

  #replace(message: OutMessage): void {
    const { task, key } = message;
    this.#set(
      task,
      this.of(task).map((one) => (one.key === key ? message : one)),
    );
  }

  #set(task: string, messages: readonly OutMessage[]): void {
    this.#byTask = new Map([...this.#byTask, [task, messages]]);
    this.#tell();
  }

  /** One at a time, because other tabs keep theirs in the same place. */
  #keep(key: string, message: OutMessage | undefined): void {
    const others = readMessages(readStored(this.#storage, stored)).filter((one) => one.key !== key);
    const all = message === undefined ? others : [...others, message];
    writeStored(this.#storage, stored, writeMessages(all.slice(-maxMessages)));
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Something that was said and that the server does not have for certain. */
export interface OutMessage {
  readonly task: string;
  /** What makes it count once, however often it is sent. */
  readonly key: string;
  readonly text: string;
  readonly when: 'steer' | 'follow_up';
  /** When it was said, in ms since 1970. */
  readonly at: number;
  /** `sent`: the server has it, and it is not shown otherwise yet. */
  readonly state: 'sending' | 'sent' | 'failed';
  /** Why it was not sent. */
  readonly error?: string | undefined;
}

/** More than anybody says to a server that does not answer. */
const maxMessages = 100;
export const tooMany: string = `${maxMessages} messages wait to be sent. Wait until the server has them, or discard some`;

/** What was kept; of what is no message, nothing. */
function readMessages(text: string | undefined): readonly OutMessage[] {
  const parsed = parseJson(text ?? '[]');
  if (!parsed.ok || !Array.isArray(parsed.value)) return [];
  return parsed.value.flatMap(messageOf).slice(0, maxMessages);
}

function messageOf(value: JsonValue): readonly OutMessage[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const { task, key, text, when, at, error } = value as Readonly<Record<string, JsonValue>>;
  if (typeof task !== 'string' || typeof key !== 'string' || typeof text !== 'string') return [];
  const known = { task, key, text, at: typeof at === 'number' ? at : 0 };
  const kept = { ...known, when: when === 'steer' ? 'steer' : 'follow_up' } as const;
  return [
    typeof error === 'string' ? { ...kept, state: 'failed', error } : { ...kept, state: 'sending' },
  ];
}

function writeMessages(messages: readonly OutMessage[]): string | undefined {
  return messages.length === 0
    ? undefined
    : JSON.stringify(messages.map(({ state: _, ...kept }) => kept));
}

/** Sends by the handle of its session, and tells when the session's stream has it as well. */
export function deliverTo(sources: LiveSources, onSent: () => void): OutboxOptions['deliver'] {
  return async ({ task, text, when, key }) => {
    const source = sources.get(task);
    const { offset } = await source.handle.send(text, { when, key });
    onSent();
    return { seen: offset === undefined ? Promise.resolve() : untilRead(source, offset) };
  };
}

function untilRead(source: LiveSource, offset: number): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      const { state, connection } = source.handle.snapshot();
      const isOver = connection.state === 'ended' || connection.state === 'failed';
      if (state.through < offset && !isOver) return;
      leave();
      resolve();
    };
    const leave = source.subscribe(look);
    look();
  });
}
