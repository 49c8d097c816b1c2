import type { Clock } from '../../transport/clock.ts';
import type { ByteBudget } from '../captured-request.ts';
import type { BodyEnd, BodyEnding, RecordedChunk } from '../cassette.ts';
import {
  type ByteController,
  closeByteStream,
  isByteStream,
  rebuildResponse,
} from '../web-platform.ts';

interface RecordingOptions {
  readonly clock: Clock;
  readonly budget: ByteBudget;
  readonly maxChunks: number;
}

interface ReceivedResponse {
  readonly atMs: number;
  readonly response: Response;
}

export interface RecordingEnd extends Omit<BodyEnd, 'error'> {
  readonly error?: unknown;
}

/** Collects one exchange while it runs, up to the limits. The collected data still contains secrets. */
export class ExchangeRecording {
  readonly startedAt: number;
  readonly chunks: RecordedChunk[] = [];
  head: ReceivedResponse | undefined;
  /** Resolves at the first call of `end`. Later calls have no effect. */
  readonly ended: Promise<RecordingEnd>;
  readonly #options: RecordingOptions;
  readonly #resolveEnded: (end: RecordingEnd) => void;
  #lastMs = 0;
  #clippedChunks = 0;
  #clippedBytes = 0;

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.startedAt = options.clock.now();
    const { promise, resolve } = Promise.withResolvers<RecordingEnd>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  /**
   * Returns the milliseconds since the start. The value never decreases, even if the system clock changes.
   */
  elapsedMs(): number {
    this.#lastMs = Math.max(this.#lastMs, msBetween(this.startedAt, this.#options.clock.now()));
    return this.#lastMs;
  }

  begin(response: Response): void {
    this.head = { atMs: this.elapsedMs(), response };
  }

  /**
   * Adds a chunk to the recording. It stores a copy, because the reader may overwrite or transfer
   * the bytes.
   */
  add(chunk: unknown): void {
    const bytes = chunk instanceof Uint8Array ? chunk : undefined;
    if (bytes?.length === 0) return;
    if (bytes !== undefined && this.#isWithinLimits(bytes)) {
      this.chunks.push({ atMs: this.elapsedMs(), bytes: bytes.slice() });
    } else {
      this.#clippedChunks += 1;
      this.#clippedBytes += bytes?.length ?? 0;
    }
  }

  end(how: BodyEnding, error?: unknown): void {
    const clipped = { chunks: this.#clippedChunks, bytes: this.#clippedBytes };
    this.#resolveEnded({
      atMs: this.elapsedMs(),
      how,
      ...(how === 'error' ? { error } : {}),
      ...(clipped.chunks > 0 ? { clipped } : {}),
    });
  }

  /**
   * Returns whether a chunk fits into the limits. After one chunk did not fit, all later chunks are rejected.
   * A recording can therefore end early, but it has no gaps.
   */
  #isWithinLimits({ length }: Uint8Array): boolean {
    const { budget, maxChunks } = this.#options;
    return this.#clippedChunks === 0 && this.chunks.length < maxChunks && budget.take(length);
  }
}

/**
 * Returns the milliseconds between two times, at least 0. It rounds to microseconds, because more digits make
 * a recording harder to read.
 */
export function msBetween(from: number, to: number): number {
  return Math.max(0, Math.round((to - from) * 1000) / 1000);
}

/** Returns the same response. Its body is recorded while the caller reads it. */
export function recordResponse(
  response: Response,
  recording: ExchangeRecording,
  signal: AbortSignal | undefined,
): Response {
  const { body } = response;
  if (body === null) recording.end('end');
  else if (body.locked) recording.end('error', new Error('The body is already being read'));
  else return rebuildResponse(response, recordBody(body, recording, signal));
  return response;
}

/**
 * Returns a stream that records the body. Each read of the stream causes exactly one read of the original
 * body. The recording therefore does not change the timing.
 */
function recordBody(
  body: ReadableStream<Uint8Array>,
  recording: ExchangeRecording,
  signal: AbortSignal | undefined,
): ReadableStream {
  const isBytes = isByteStream(body);
  const reader = body.getReader();
  let pulling = Promise.resolve();
  let isOver = false;

  function end(how: BodyEnding, error?: unknown): void {
    isOver = true;
    recording.end(how, error);
  }

  /**
   * Handles the end of the original body immediately, because after an abort there may be no further read.
   */
  async function watch(controller: ByteController): Promise<void> {
    const failure = await reader.closed.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    // A pending read may not have passed its last chunk to the new stream yet.
    await pulling;
    if (isOver) return;
    if (failure === undefined) {
      end('end');
      closeByteStream(controller);
    } else {
      end(signal?.aborted ? 'cancelled' : 'error', failure.error);
      controller.error(failure.error);
    }
  }

  async function readOnce(controller: ByteController): Promise<void> {
    // If the read fails, `watch` handles the error.
    const read = await reader.read().catch(() => undefined);
    if (read === undefined || read.done || isOver) return;
    recording.add(read.value);
    controller.enqueue(read.value as Uint8Array<ArrayBuffer>);
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
