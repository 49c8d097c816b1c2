import type { Clock } from '../../transport/clock.ts';
import type { Room } from '../captured-request.ts';
import type { BodyEnd, Ending, RecordedChunk } from '../cassette.ts';
import { type ByteController, closeBytes, isByteStream, responseLike } from '../web-platform.ts';

interface TapeOptions {
  readonly clock: Clock;
  readonly room: Room;
  readonly maxChunks: number;
}

interface TapeHead {
  readonly atMs: number;
  readonly response: Response;
}

export interface TapeEnd extends Omit<BodyEnd, 'error'> {
  readonly error?: unknown;
}

/** What one exchange gives while it goes on, secrets included, up to its limits. */
export class Tape {
  readonly startedAt: number;
  readonly chunks: RecordedChunk[] = [];
  head: TapeHead | undefined;
  /** Resolves once: the first that ends it says how. */
  readonly ended: Promise<TapeEnd>;
  readonly #options: TapeOptions;
  readonly #resolveEnded: (end: TapeEnd) => void;
  #lastMs = 0;
  #clippedChunks = 0;
  #clippedBytes = 0;

  constructor(options: TapeOptions) {
    this.#options = options;
    this.startedAt = options.clock.now();
    const { promise, resolve } = Promise.withResolvers<TapeEnd>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  /** Since the start, and never less than before, whatever is done to the clock of the machine. */
  elapsedMs(): number {
    this.#lastMs = Math.max(this.#lastMs, msBetween(this.startedAt, this.#options.clock.now()));
    return this.#lastMs;
  }

  begin(response: Response): void {
    this.head = { atMs: this.elapsedMs(), response };
  }

  /** Keeps a copy, because whoever reads on may write into the bytes or give them away. */
  add(chunk: unknown): void {
    const bytes = chunk instanceof Uint8Array ? chunk : undefined;
    if (bytes?.length === 0) return;
    if (bytes !== undefined && this.#hasRoomFor(bytes)) {
      this.chunks.push({ atMs: this.elapsedMs(), bytes: bytes.slice() });
    } else {
      this.#clippedChunks += 1;
      this.#clippedBytes += bytes?.length ?? 0;
    }
  }

  end(how: Ending, error?: unknown): void {
    const clipped = { chunks: this.#clippedChunks, bytes: this.#clippedBytes };
    this.#resolveEnded({
      atMs: this.elapsedMs(),
      how,
      ...(how === 'error' ? { error } : {}),
      ...(clipped.chunks > 0 ? { clipped } : {}),
    });
  }

  /** After the first that has none nothing is kept: a recording has an end, but no holes. */
  #hasRoomFor({ length }: Uint8Array): boolean {
    const { room, maxChunks } = this.#options;
    return this.#clippedChunks === 0 && this.chunks.length < maxChunks && room.take(length);
  }
}

/** To the microsecond, because more digits only make a recording harder to read. */
export function msBetween(from: number, to: number): number {
  return Math.max(0, Math.round((to - from) * 1000) / 1000);
}

/** The same response, whose body is heard by the tape while its reader reads it. */
export function tapResponse(
  response: Response,
  tape: Tape,
  signal: AbortSignal | undefined,
): Response {
  const { body } = response;
  if (body === null) tape.end('end');
  else if (body.locked) tape.end('error', new Error('the body was being read by someone else'));
  else return responseLike(response, tapBody(body, tape, signal));
  return response;
}

/** One read here is one read there: nothing is fetched ahead of its reader, and nothing is held back. */
function tapBody(
  body: ReadableStream<Uint8Array>,
  tape: Tape,
  signal: AbortSignal | undefined,
): ReadableStream {
  const isBytes = isByteStream(body);
  const reader = body.getReader();
  let pulling = Promise.resolve();
  let isOver = false;

  function end(how: Ending, error?: unknown): void {
    isOver = true;
    tape.end(how, error);
  }

  /** Hears of the end at once and not at the next read, which may never come after an abort. */
  async function watch(controller: ByteController): Promise<void> {
    const failure = await reader.closed.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    // The last chunk may still be on its way.
    await pulling;
    if (isOver) return;
    if (failure === undefined) {
      end('end');
      closeBytes(controller);
    } else {
      end(signal?.aborted ? 'cancelled' : 'error', failure.error);
      controller.error(failure.error);
    }
  }

  async function readOnce(controller: ByteController): Promise<void> {
    // What a read fails with is what `watch` hears.
    const read = await reader.read().catch(() => undefined);
    if (read === undefined || read.done || isOver) return;
    tape.add(read.value);
    controller.enqueue(read.value);
  }

  const source = {
    start(controller: ByteController): void {
      void watch(controller);
    },
    pull(controller: ByteController): Promise<void> {
      pulling = readOnce(controller);
      return pulling;
    },
    cancel(reason: unknown): Promise<void> {
      end('cancelled');
      return reader.cancel(reason);
    },
  };
  return isBytes
    ? new ReadableStream({ ...source, type: 'bytes' })
    : new ReadableStream(source, { highWaterMark: 0 });
}
