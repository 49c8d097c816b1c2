import type { Clock } from '../../transport/clock.ts';
import type { BodyEnd, Ending, RecordedChunk } from '../cassette.ts';
import type { Room } from '../cassette-limits.ts';

export interface TapeOptions {
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
