import { type Clock, systemClock } from '../../transport/clock.ts';
import { describeRequest, Room, type TappedRequest, tapRequest } from '../captured-request.ts';
import {
  type BodyEnd,
  type Cassette,
  type CassetteLimits,
  defaultCassetteLimits,
  isWhole,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';
import { recordError } from '../recorded-error.ts';
import { keepHeaders } from '../redact/redact-http.ts';
import { createRedactor, type Redactor } from '../redact/redactor.ts';
import { macrotask } from '../web-platform.ts';
import { msBetween, Tape, type TapeEnd, tapResponse } from './exchange-recording.ts';

export interface RecordOptions {
  /** What makes the requests: the global fetch unless told. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Texts that must not be in the recording: taken out of URL, bodies and errors as they are, in JSON
   * and percent-encoded, as is what looks like a key. One that a model spells over several events is
   * not found: read what it said before you keep it.
   */
  readonly secrets?: readonly string[] | undefined;
  /** Hears of each exchange when its body is over. What it throws, `settled` rejects with. */
  readonly onExchange?: ((exchange: RecordedExchange) => void) | undefined;
  readonly limits?: Partial<CassetteLimits> | undefined;
  readonly clock?: Clock | undefined;
}

export interface CassetteRecorder {
  /** The fetch to use: what it answers is live, whole and as it was. */
  readonly fetch: typeof fetch;
  /** The exchanges that are over by now. */
  cassette(): Cassette;
  /** The same when no exchange goes on: each body was read to its end, cancelled, or broke. */
  settled(): Promise<Cassette>;
}

/**
 * A fetch that remembers what went through it, read by read, without headers and texts that are secret.
 *
 * @example
 * const recorder = recordCassette({ secrets: [apiKey] });
 * await (await recorder.fetch('https://api.example.com/v1/models')).text();
 * await writeFile('models.cassette.jsonl', encodeCassette(await recorder.settled()));
 */
export function recordCassette(options: RecordOptions = {}): CassetteRecorder {
  return new Recorder(options);
}

class Recorder implements CassetteRecorder {
  readonly fetch: typeof fetch = (input, init) => this.#record(input, init);
  readonly #send: typeof fetch;
  readonly #clock: Clock;
  readonly #limits: CassetteLimits;
  readonly #redactor: Redactor;
  readonly #onExchange: (exchange: RecordedExchange) => void;
  readonly #room: Room;
  /** In the order of their starts; undefined while one goes on. */
  readonly #exchanges: (RecordedExchange | undefined)[] = [];
  readonly #open = new Set<Promise<void>>();
  #firstStartedAt: number | undefined;
  #unrecorded = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: RecordOptions) {
    // Called on nothing, as browsers want it; looked up at each call, in case the global is replaced.
    this.#send = (input, init) => (options.fetch ?? globalThis.fetch)(input, init);
    this.#clock = options.clock ?? systemClock;
    this.#limits = { ...defaultCassetteLimits, ...options.limits };
    this.#redactor = createRedactor(options.secrets);
    this.#onExchange = options.onExchange ?? (() => {});
    this.#room = new Room(this.#limits.maxTotalBytes);
  }

  cassette(): Cassette {
    const exchanges = this.#exchanges.filter((exchange) => exchange !== undefined);
    return { exchanges, ...(this.#unrecorded > 0 ? { unrecorded: this.#unrecorded } : {}) };
  }

  async settled(): Promise<Cassette> {
    while (this.#open.size > 0) await Promise.all(this.#open);
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.cassette();
  }

  async #record(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const room = new Room(this.#limits.maxExchangeBytes, this.#room);
    const request = this.#tap(input, init, room);
    if (request === undefined) return this.#send(input, init);
    const maxChunks = this.#limits.maxChunksPerExchange;
    const tape = new Tape({ clock: this.#clock, room, maxChunks });
    this.#keep(request, tape);
    try {
      const response = await this.#send(...request.send);
      tape.begin(response);
      return tapResponse(response, tape, request.signal);
    } catch (error) {
      tape.end(request.signal?.aborted ? 'cancelled' : 'error', error);
      throw error;
    }
  }

  /** Undefined where it is one too many, or no request at all: then fetch itself will say so. */
  #tap(...[input, init, room]: Parameters<typeof tapRequest>): TappedRequest | undefined {
    try {
      if (this.#exchanges.length < this.#limits.maxExchanges) return tapRequest(input, init, room);
    } catch {}
    this.#unrecorded += 1;
    return undefined;
  }

  #keep(request: TappedRequest, tape: Tape): void {
    this.#firstStartedAt ??= tape.startedAt;
    const startMs = msBetween(this.#firstStartedAt, tape.startedAt);
    const index = this.#exchanges.push(undefined) - 1;
    const kept = this.#finish(request, tape, startMs)
      .then((exchange) => {
        this.#exchanges[index] = exchange;
        this.#onExchange(exchange);
      })
      // Nobody who reads the body can mend it: whoever asks for the cassette hears of it.
      .catch((error) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#open.delete(kept));
    this.#open.add(kept);
  }

  async #finish(request: TappedRequest, tape: Tape, startMs: number): Promise<RecordedExchange> {
    const ended = await tape.ended;
    // What was not sent by then never will be; a body that is at hand is read within this turn.
    macrotask(() => request.copy.stop());
    const described = await describeRequest(request, this.#redactor);
    return describeExchange(startMs, described, tape, ended, this.#redactor);
  }
}

/** What the tape heard, without its secrets. */
export function describeExchange(
  startMs: number,
  request: RecordedRequest,
  tape: Tape,
  ended: TapeEnd,
  redactor: Redactor,
): RecordedExchange {
  const end = describeEnd(ended, redactor);
  const response = describeResponse(tape, end, redactor);
  return { startMs, request, ...(response === undefined ? {} : { response }), end };
}

function describeEnd({ error, ...end }: TapeEnd, { text }: Redactor): BodyEnd {
  return end.how === 'error' ? { ...end, error: recordError(error, text) } : end;
}

function describeResponse(
  { head, chunks }: Tape,
  end: BodyEnd,
  redactor: Redactor,
): RecordedResponse | undefined {
  if (head === undefined) return undefined;
  const { atMs, response } = head;
  const { status, statusText, headers } = response;
  const clean = redactor.chunks(
    chunks.map(({ bytes }) => bytes),
    !isWhole(end),
  );
  return {
    atMs,
    status,
    ...(statusText === '' ? {} : { statusText: redactor.text(statusText) }),
    headers: keepHeaders(headers, redactor),
    chunks: clean.map((bytes, index) => ({ atMs: chunks[index]?.atMs ?? atMs, bytes })),
  };
}
