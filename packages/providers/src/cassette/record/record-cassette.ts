import type { OptionNames } from '@millrace/core';
import { type Clock, systemClock } from '../../transport/clock.ts';
import {
  ByteBudget,
  type CapturedRequest,
  captureRequest,
  redactorOf,
  toRecordedRequest,
} from '../captured-request.ts';
import {
  assertCassetteOptions,
  type BodyEnd,
  type Cassette,
  type CassetteLimits,
  defaultCassetteLimits,
  isComplete,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';
import { recordError } from '../recorded-error.ts';
import { redactHeaders } from '../redact/redact-http.ts';
import { createRedactor, type Redactor } from '../redact/redactor.ts';
import { scheduleMacrotask } from '../web-platform.ts';
import {
  ExchangeRecording,
  msBetween,
  type RecordingEnd,
  recordResponse,
} from './exchange-recording.ts';

/** Options of `recordCassette`. */
export interface RecordOptions {
  /** The fetch that sends the requests. Default: the global fetch. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Texts that must not appear in the recording. They are removed from URLs, bodies and errors, including
   * their JSON-escaped and percent-encoded forms. Texts that look like an API key are removed too, and so are keys,
   * tokens and cookies in the headers and the URL of a request, from the whole exchange.
   *
   * If a model spreads a secret over several events, the secret is not detected. Read the answers before you
   * publish a recording. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
  /**
   * Called with each exchange after its body ended. If the callback throws, `settled` rejects with that
   * error. Default: none.
   */
  readonly onExchange?: ((exchange: RecordedExchange) => void) | undefined;
  /** Limits of the recording. Default: see `CassetteLimits`. */
  readonly limits?: Partial<CassetteLimits> | undefined;
  /** The clock for the recorded times. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const limitNames: OptionNames<CassetteLimits> = {
  maxExchangeBytes: true,
  maxTotalBytes: true,
  maxChunksPerExchange: true,
  maxExchanges: true,
};

/** Records the requests that a program sends with its `fetch`. */
export interface CassetteRecorder {
  /** Use this fetch for requests. It returns the live response unchanged. */
  readonly fetch: typeof fetch;
  /** Returns the exchanges that have already ended. */
  cassette(): Cassette;
  /**
   * Resolves when no exchange is running. An exchange ends when its body was read to its end, was cancelled,
   * or failed.
   */
  settled(): Promise<Cassette>;
}

/**
 * Creates a fetch that records its requests and each read of their responses. Secret headers and
 * texts are not recorded.
 *
 * @example
 * const recorder = recordCassette({ secrets: [apiKey] });
 * await (await recorder.fetch('https://api.example.com/v1/models')).text();
 * await writeFile('models.cassette.jsonl', encodeCassette(await recorder.settled()));
 */
export function recordCassette(options: RecordOptions = {}): CassetteRecorder {
  assertCassetteOptions('recordCassette', options, {
    ...{ fetch: true, secrets: true, onExchange: true, limits: true, clock: true },
  });
  assertCassetteOptions('recordCassette: limits', options.limits ?? {}, limitNames);
  return new Recorder(options);
}

class Recorder implements CassetteRecorder {
  readonly fetch: typeof fetch = (input, init) => this.#record(input, init);
  readonly #send: typeof fetch;
  readonly #clock: Clock;
  readonly #limits: CassetteLimits;
  readonly #redactor: Redactor;
  readonly #onExchange: (exchange: RecordedExchange) => void;
  readonly #budget: ByteBudget;
  /**
   * The exchanges, in the order in which they started. An entry is undefined while its exchange is running.
   */
  readonly #exchanges: (RecordedExchange | undefined)[] = [];
  readonly #pending = new Set<Promise<void>>();
  #firstStartedAt: number | undefined;
  #unrecorded = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: RecordOptions) {
    // `fetch` is called without a receiver, because browsers require this. It is looked up at each call,
    // because a program may replace the global function.
    this.#send = (input, init) => (options.fetch ?? globalThis.fetch)(input, init);
    this.#clock = options.clock ?? systemClock;
    this.#limits = { ...defaultCassetteLimits, ...options.limits };
    this.#redactor = createRedactor(options.secrets);
    this.#onExchange = options.onExchange ?? (() => {});
    this.#budget = new ByteBudget(this.#limits.maxTotalBytes);
  }

  cassette(): Cassette {
    const exchanges = this.#exchanges.filter((exchange) => exchange !== undefined);
    return { exchanges, ...(this.#unrecorded > 0 ? { unrecorded: this.#unrecorded } : {}) };
  }

  async settled(): Promise<Cassette> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.cassette();
  }

  async #record(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const budget = new ByteBudget(this.#limits.maxExchangeBytes, this.#budget);
    const request = this.#capture(input, init, budget);
    if (request === undefined) return this.#send(input, init);
    const maxChunks = this.#limits.maxChunksPerExchange;
    const recording = new ExchangeRecording({ clock: this.#clock, budget, maxChunks });
    this.#track(request, recording);
    try {
      const response = await this.#send(...request.send);
      recording.begin(response);
      return recordResponse(response, recording, request.signal);
    } catch (error) {
      recording.end(request.signal?.aborted ? 'cancelled' : 'error', error);
      throw error;
    }
  }

  /**
   * Captures a request. Returns undefined if the limit is reached or the arguments are invalid. The real
   * fetch reports invalid arguments.
   */
  #capture(
    ...[input, init, budget]: Parameters<typeof captureRequest>
  ): CapturedRequest | undefined {
    try {
      if (this.#exchanges.length < this.#limits.maxExchanges)
        return captureRequest(input, init, budget);
    } catch {}
    this.#unrecorded += 1;
    return undefined;
  }

  #track(request: CapturedRequest, recording: ExchangeRecording): void {
    this.#firstStartedAt ??= recording.startedAt;
    const startMs = msBetween(this.#firstStartedAt, recording.startedAt);
    const index = this.#exchanges.push(undefined) - 1;
    const tracked = this.#finish(request, recording, startMs)
      .then((exchange) => {
        this.#exchanges[index] = exchange;
        this.#onExchange(exchange);
      })
      // The code that reads the body cannot handle this error, so `settled` reports it.
      .catch((error) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }

  async #finish(
    request: CapturedRequest,
    recording: ExchangeRecording,
    startMs: number,
  ): Promise<RecordedExchange> {
    const ended = await recording.ended;
    // After the end of the response, the remaining request body is never sent, so the copy stops. A body in
    // memory has been read completely before this macrotask runs.
    scheduleMacrotask(() => request.copy.stop());
    const redactor = redactorOf(request, this.#redactor);
    const described = await toRecordedRequest(request, redactor);
    return toRecordedExchange(startMs, described, recording, ended, redactor);
  }
}

/** Converts a finished recording to its stored form without secrets. */
function toRecordedExchange(
  startMs: number,
  request: RecordedRequest,
  recording: ExchangeRecording,
  ended: RecordingEnd,
  redactor: Redactor,
): RecordedExchange {
  const end = toRecordedEnd(ended, redactor);
  const response = toRecordedResponse(recording, end, redactor);
  return { startMs, request, ...(response === undefined ? {} : { response }), end };
}

function toRecordedEnd({ error, ...end }: RecordingEnd, { text }: Redactor): BodyEnd {
  return end.how === 'error' ? { ...end, error: recordError(error, text) } : end;
}

function toRecordedResponse(
  { head, chunks }: ExchangeRecording,
  end: BodyEnd,
  redactor: Redactor,
): RecordedResponse | undefined {
  if (head === undefined) return undefined;
  const { atMs, response } = head;
  const { status, statusText, headers } = response;
  const clean = redactor.chunks(
    chunks.map(({ bytes }) => bytes),
    !isComplete(end),
  );
  return {
    atMs,
    status,
    ...(statusText === '' ? {} : { statusText: redactor.text(statusText) }),
    headers: redactHeaders(headers, redactor),
    chunks: clean.map((bytes, index) => ({ atMs: chunks[index]?.atMs ?? atMs, bytes })),
  };
}
