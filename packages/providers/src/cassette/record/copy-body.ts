import { concatBytes } from '../bytes/concat-bytes.ts';
import type { Room } from '../cassette-limits.ts';

export interface BodyCopy {
  readonly body: Promise<CopiedBody>;
  /** Reads no further: what has not come by now is clipped. */
  stop(): void;
}

interface CopiedBody {
  readonly bytes?: Uint8Array;
  /** There was more than there is room for, or it could not be read to its end. */
  readonly isClipped?: true;
}

export const noBody: BodyCopy = { body: Promise.resolve({}), stop: () => {} };

export function copyBody(stream: ReadableStream<Uint8Array>, room: Room): BodyCopy {
  const reader = stream.getReader();
  let isStopped = false;

  function stop(): void {
    isStopped = true;
    // Not awaited: one branch of a fork counts as cancelled only when the other one is.
    reader.cancel().catch(() => {});
  }

  async function readAll(): Promise<CopiedBody> {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (isStopped) return { isClipped: true };
      if (done) return { bytes: concatBytes(chunks) };
      if (room.take(value.length)) chunks.push(value);
      else stop();
    }
  }

  // Where it cannot be read the original fails too, and its caller hears of it there.
  return { body: readAll().catch(() => ({ isClipped: true })), stop };
}
