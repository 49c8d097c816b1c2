import {
  type Batch,
  decodeBatch,
  encodeBatch,
  encodeTranscript,
  type JsonValue,
  type LogRecord,
  mergeBatch,
  noUsage,
  recordVersion,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamItem, StreamStep } from '../contract/provider.ts';
import { moveDelta, wrapProvider } from '../provider/wrap-provider.ts';
import { badOption, checkCounts, checkNames } from './check-options.ts';

/**
 * A store for the answers of `cacheAnswers`, for example a map, a file or Redis. Keys are hashes, and values
 * are JSON.
 */
export interface AnswerStore {
  /** Returns the stored answer, or undefined if there is none. */
  get(key: string): string | undefined | Promise<string | undefined>;
  /** Stores an answer. */
  set(key: string, answer: string): void | Promise<void>;
}

/** Options of `cacheAnswers`. */
export interface AnswerCacheOptions {
  /** The store for the answers. Default: a separate `memoryAnswerStore` for this provider. */
  readonly store?: AnswerStore | undefined;
  /**
   * Maximum number of characters of text in a stored answer. Longer answers are not stored.
   * Default: 1,048,576.
   */
  readonly maxAnswerLength?: number | undefined;
  /** Called if the store fails. In this case, the request is sent to the provider. Default: none. */
  readonly onStoreError?: ((error: unknown) => void) | undefined;
}

/**
 * Answers repeated requests from a store. Two requests are equal if their provider, model, content and
 * settings are equal. The ids of items and cache hints are not compared. Only complete answers are stored,
 * never errors, refusals or answers that were cut. A stored answer costs nothing, so its usage is 0, and
 * `details.fromCache` is true.
 *
 * @example
 * const provider = cacheAnswers(anthropic({ model: 'claude-sonnet-4-5' }));
 */
export function cacheAnswers(provider: Provider, options: AnswerCacheOptions = {}): Provider {
  checkNames('cacheAnswers', options, ['store', 'maxAnswerLength', 'onStoreError']);
  checkCounts('cacheAnswers', { maxAnswerLength: options.maxAnswerLength });
  const { store = memoryAnswerStore(), maxAnswerLength = 2 ** 20, onStoreError } = options;
  if (typeof store.get !== 'function' || typeof store.set !== 'function')
    throw badOption('cacheAnswers', 'store has no get and set; pass both functions');
  const attempt = async <T>(work: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      onStoreError?.(error);
      return undefined;
    }
  };
  const cached = wrapProvider(provider, async function* (request, context, next) {
    const key = await keyOf(provider, request);
    const known = await attempt(async () => readAnswer(await store.get(key), context.item));
    if (known !== undefined && !context.signal?.aborted) return yield known;
    const answer = new CollectedAnswer(context.item, maxAnswerLength);
    for await (const step of next(request, context)) {
      const text = answer.add(step);
      if (text !== undefined) await attempt(() => store.set(key, text));
      yield step;
    }
  });
  return { ...cached, ...(provider.describe && { describe: provider.describe }) };
}

/** Options of `memoryAnswerStore`. */
export interface MemoryAnswerStoreOptions {
  /**
   * Maximum number of answers. If there are more, the least recently used answers are removed. Default: 1000.
   */
  readonly maxEntries?: number | undefined;
  /** Maximum total length of all answers in characters. Default: 64 Mi. */
  readonly maxLength?: number | undefined;
}

/** Creates a store in memory for `cacheAnswers`. Several providers can share it. */
export function memoryAnswerStore(options: MemoryAnswerStoreOptions = {}): AnswerStore {
  checkNames('memoryAnswerStore', options, ['maxEntries', 'maxLength']);
  const { maxEntries = 1000, maxLength = 2 ** 26 } = options;
  checkCounts('memoryAnswerStore', { maxEntries, maxLength });
  /** The answers, in the order of their last use. */
  const answers = new Map<string, string>();
  let length = 0;
  const remove = (key: string) => {
    length -= answers.get(key)?.length ?? 0;
    answers.delete(key);
  };
  return {
    get(key) {
      const answer = answers.get(key);
      if (answer === undefined) return undefined;
      answers.delete(key);
      answers.set(key, answer);
      return answer;
    },
    set(key, answer) {
      remove(key);
      if (answer.length > maxLength) return;
      answers.set(key, answer);
      length += answer.length;
      for (const oldest of answers.keys()) {
        if (answers.size <= maxEntries && length <= maxLength) return;
        remove(oldest);
      }
    },
  };
}

/** Collects the deltas of one answer. They are kept unchanged, and encoded only once at the end. */
class CollectedAnswer {
  readonly #item: StreamItem;
  readonly #steps: StreamStep[] = [];
  #left: number;

  constructor(item: StreamItem, maxLength: number) {
    this.#item = item;
    this.#left = maxLength;
  }

  /** Adds a step. After the last step, returns the encoded answer if it may be stored. */
  add(step: StreamStep): string | undefined {
    if (this.#left < 0) return undefined;
    this.#steps.push(step);
    for (const delta of step.deltas) if ('chunk' in delta) this.#left -= delta.chunk.length;
    const { end } = step;
    const isWhole = end?.stop.reason === 'stop' || end?.stop.reason === 'tool_use';
    if (end === undefined || end.error !== undefined || !isWhole) return undefined;
    const { stop, usage, details } = end;
    const { id: itemId, turn, attempt } = this.#item;
    const head = { v: recordVersion, time: 0, turn, attempt, producer: 'cache' } as const;
    const bodies = this.#steps.flatMap(({ deltas }) => deltas.map((delta) => ({ delta })));
    const fact = { type: 'response_finished', itemId, stop, usage, ...(details && { details }) };
    const records = [...bodies, { fact }].map(
      (body, index) => ({ ...head, offset: index + 1, ...body }) as LogRecord,
    );
    return encodeBatch(mergeBatch({ after: 0, through: records.length, records }));
  }
}

/**
 * Decodes a stored answer and rewrites it for a different item. Throws if the text is not a stored answer.
 */
function readAnswer(text: string | undefined, item: StreamItem): StreamStep | undefined {
  if (text === undefined) return undefined;
  const { records }: Batch = decodeBatch(text);
  const finished = records.at(-1)?.fact;
  if (finished?.type !== 'response_finished')
    throw new TypeError('The stored answer has no end. Remove it from the store');
  const { stop, details } = finished;
  const { model, responseId } = details ?? {};
  return {
    deltas: records.flatMap(({ delta }) => (delta === undefined ? [] : moveDelta(delta, item))),
    end: {
      stop,
      usage: noUsage,
      ...(model === undefined ? {} : { model }),
      ...(responseId === undefined ? {} : { responseId }),
      details: { ...details, fromCache: true },
    },
  };
}

async function keyOf({ id, model }: Provider, request: ModelRequest): Promise<string> {
  const { items, cache: _hints, ...settings } = request;
  const transcript = JSON.parse(encodeTranscript(items)) as { readonly items: readonly object[] };
  const content = transcript.items.map((item) => ({ ...item, id: undefined, metadata: undefined }));
  const text = JSON.stringify(sorted({ id, model, settings, content } as unknown as JsonValue));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Sorts the fields of all objects, because the order of fields has no meaning in a request. */
function sorted(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: JsonValue) => sorted(one) ?? null);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field) as JsonValue]));
}
