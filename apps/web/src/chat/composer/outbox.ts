import type { Attachment } from '@millrace/client';
import { type JsonValue, parseJson } from '@millrace/core';
import type { LiveSource, LiveSources } from '@millrace/react';
import { attachmentsIn, errorText, isUnreachable } from '@millrace/react';
import { readStored, sharedStorage, writeStored } from '@millrace/react/storage';
import { pageLabels } from '../../languages/page-labels.ts';

export interface Delivery {
  /** Resolves when the conversation shows the message. */
  readonly shown: Promise<void>;
}

interface OutboxOptions {
  /**
   * Sends a message. Resolves when the server has stored it. If the server already has a message
   * with this key, it ignores the new one.
   */
  readonly deliver: (message: OutgoingMessage) => Promise<Delivery>;
  readonly newKey: () => string;
  /** Returns the current time in ms since 1970. */
  readonly now: () => number;
  /** The storage of the messages. Default: the local storage, which all tabs share. */
  readonly storage?: (() => Storage) | undefined;
}

/** Maximum age of messages that are sent automatically when the page is opened again. */
const autoResendMaxAgeMs = 10 * 60_000;
const storageKey = 'outbox';
const none: readonly OutgoingMessage[] = [];

/**
 * Stores messages until the server has them. Messages are in the browser's storage, so they survive
 * a reload and a server outage. The messages of one session are sent in order.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #storage: () => Storage;
  readonly #listeners = new Set<() => void>();
  readonly #busy = new Set<string>();
  /**
   * The keys of messages that failed because the server did not answer, since the page was opened.
   */
  readonly #unanswered = new Set<string>();
  #isResumed = false;
  #byTask: ReadonlyMap<string, readonly OutgoingMessage[]> = new Map();

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#storage = options.storage ?? sharedStorage;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /**
   * Returns the unsent messages of a task. Returns the same array until the messages of the task
   * change.
   */
  of(task: string): readonly OutgoingMessage[] {
    return this.#byTask.get(task) ?? none;
  }

  /** Loads and sends the messages that an earlier visit to the page could not send. */
  resume(): void {
    if (this.#isResumed) return;
    this.#isResumed = true;
    const messages = parseMessages(readStored(this.#storage, storageKey)).map(
      (message): OutgoingMessage => {
        const isFresh = Math.abs(this.#options.now() - message.at) <= autoResendMaxAgeMs;
        if (message.state === 'failed' || isFresh) return message;
        return {
          ...message,
          state: 'failed',
          error: pageLabels().pageWasClosed,
        };
      },
    );
    this.#byTask = Map.groupBy(messages, ({ task }) => task);
    for (const task of this.#byTask.keys()) void this.#sendAll(task);
    this.#notify();
  }

  /** Adds a message. Returns false if the outbox is full. */
  add(
    task: string,
    text: string,
    when: OutgoingMessage['when'],
    attachments: readonly Attachment[] = [],
    model?: string,
  ): boolean {
    const { newKey, now } = this.#options;
    const count = [...this.#byTask.values()].reduce((sum, { length }) => sum + length, 0);
    if (count >= maxMessages) return false;
    const message: OutgoingMessage = {
      task,
      text,
      when,
      key: newKey(),
      at: now(),
      state: 'sending',
      ...(attachments.length > 0 && { attachments }),
      ...(model !== undefined && { model }),
    };
    this.#set(task, [...this.of(task), message]);
    this.#persist(message.key, message);
    void this.#sendAll(task);
    return true;
  }

  retry({ task, key }: OutgoingMessage): void {
    const failed = this.of(task).find((one) => one.key === key && one.state === 'failed');
    if (failed === undefined) return;
    const { error: _, ...message } = failed;
    this.#replace({ ...message, state: 'sending', at: this.#options.now() });
    void this.#sendAll(task);
  }

  /**
   * Resends the messages that failed because the server did not answer. Call it when the server is
   * available again.
   */
  retryUnanswered(task: string): void {
    for (const message of this.of(task)) if (this.#unanswered.has(message.key)) this.retry(message);
  }

  /** Removes a message, so that it is not sent. */
  remove({ task, key }: OutgoingMessage): void {
    this.#unanswered.delete(key);
    this.#persist(key, undefined);
    this.#set(
      task,
      this.of(task).filter((one) => one.key !== key),
    );
  }

  async #sendAll(task: string): Promise<void> {
    if (this.#busy.has(task)) return;
    this.#busy.add(task);
    const next = () => this.of(task).find(({ state }) => state === 'sending');
    for (let message = next(); message !== undefined; message = next()) await this.#send(message);
    this.#busy.delete(task);
  }

  async #send(message: OutgoingMessage): Promise<void> {
    this.#unanswered.delete(message.key);
    try {
      const { shown } = await this.#options.deliver(message);
      this.#persist(message.key, undefined);
      this.#replace({ ...message, state: 'sent' });
      void shown.catch(() => {}).then(() => this.remove(message));
    } catch (reason) {
      if (isUnreachable(reason)) this.#unanswered.add(message.key);
      const failed: OutgoingMessage = {
        ...message,
        state: 'failed',
        error: errorText(reason, pageLabels()),
      };
      this.#replace(failed);
      this.#persist(message.key, failed);
    }
  }

  #replace(message: OutgoingMessage): void {
    const { task, key } = message;
    this.#set(
      task,
      this.of(task).map((one) => (one.key === key ? message : one)),
    );
  }

  #set(task: string, messages: readonly OutgoingMessage[]): void {
    this.#byTask = new Map([...this.#byTask, [task, messages]]);
    this.#notify();
  }

  /**
   * Stores or removes one message. It keeps all other messages, because other tabs use the same
   * storage entry.
   */
  #persist(key: string, message: OutgoingMessage | undefined): void {
    const others = parseMessages(readStored(this.#storage, storageKey)).filter(
      (one) => one.key !== key,
    );
    const all = message === undefined ? others : [...others, message];
    writeStored(this.#storage, storageKey, serializeMessages(all.slice(-maxMessages)));
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A message for which no confirmation from the server has arrived. */
export interface OutgoingMessage {
  readonly task: string;
  /** The idempotency key. */
  readonly key: string;
  readonly text: string;
  readonly when: 'steer' | 'follow_up';
  /** The files of the message. They are already uploaded to the server. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** The model that the user chose for the answer. Default: the model of the message before. */
  readonly model?: string | undefined;
  /** The time at which the user sent the message, in ms since 1970. */
  readonly at: number;
  /** `sent`: the server has the message, but the conversation does not show it yet. */
  readonly state: 'sending' | 'sent' | 'failed';
  /** The reason why the message was not sent. */
  readonly error?: string | undefined;
}

/** Maximum number of messages in the outbox. */
const maxMessages = 100;
/** Returns why the outbox accepts no further message. */
export const outboxFullText = (): string => pageLabels().outboxFull(maxMessages);

/** Parses stored messages and skips invalid entries. */
function parseMessages(text: string | undefined): readonly OutgoingMessage[] {
  const parsed = parseJson(text ?? '[]');
  if (!parsed.ok || !Array.isArray(parsed.value)) return [];
  return parsed.value.flatMap(parseMessage).slice(0, maxMessages);
}

function parseMessage(value: JsonValue): readonly OutgoingMessage[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const {
    task,
    key,
    text,
    when,
    at,
    error,
    model,
    attachments: stored,
  } = value as Readonly<Record<string, JsonValue>>;
  if (typeof task !== 'string' || typeof key !== 'string' || typeof text !== 'string') return [];
  const attachments = attachmentsIn(stored);
  const fields = {
    ...{ task, key, text, at: typeof at === 'number' ? at : 0 },
    ...(attachments.length > 0 && { attachments }),
    ...(typeof model === 'string' && { model }),
  };
  const messages = { ...fields, when: when === 'steer' ? 'steer' : 'follow_up' } as const;
  return [
    typeof error === 'string'
      ? { ...messages, state: 'failed', error }
      : { ...messages, state: 'sending' },
  ];
}

function serializeMessages(messages: readonly OutgoingMessage[]): string | undefined {
  return messages.length === 0
    ? undefined
    : JSON.stringify(messages.map(({ state: _, ...messages }) => messages));
}

/**
 * Delivers messages through the handle of their session. A delivery ends when the stream of the
 * session contains the message.
 */
export function deliverWith(sources: LiveSources, onSent: () => void): OutboxOptions['deliver'] {
  return async ({ task, text, when, key, attachments, model }) => {
    const source = sources.get(task);
    const content = attachments ? ({ type: 'text', content: text, attachments } as const) : text;
    const { offset } = await source.handle.send(content, { when, key, model });
    onSent();
    return { shown: offset === undefined ? Promise.resolve() : untilRead(source, offset) };
  };
}

function untilRead(source: LiveSource, offset: number): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      const { state, connection } = source.handle.snapshot();
      const hasEnded = connection.state === 'ended' || connection.state === 'failed';
      if (state.through < offset && !hasEnded) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = source.subscribe(check);
    check();
  });
}
