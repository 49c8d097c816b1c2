import { newGate, type Step } from './script.ts';

/** A stream that sends each piece only after the client has read the previous one. */
export interface Lockstep {
  /** The steps of one reply. A gate follows each piece. */
  readonly steps: readonly Step[];
  /**
   * Reports that the client has read this many more bytes of the body. Only clients that do not use the
   * `fetch` below need this method.
   */
  received(byteCount: number): void;
  /** The real fetch. The body of its response reports each read automatically. */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Creates a reply whose pieces always arrive in separate reads of the client. In an ordinary reply, TCP, the
 * kernel and the client's buffers may join writes. A long piece may need several reads.
 *
 * @example
 * const { steps, fetch } = inLockstep(splitEvery(bytes, 1));
 * server.reply(streamReply(steps));
 * // … and give this fetch to the provider under test.
 */
export function inLockstep(pieces: readonly Uint8Array[]): Lockstep {
  let sent = 0;
  const gates = pieces.map(({ length }) => {
    sent += length;
    return { gate: newGate(), opensAt: sent };
  });
  const steps = pieces.flatMap((piece, nth): readonly Step[] => {
    const gate = gates[nth]?.gate;
    return gate === undefined ? [piece] : [piece, { type: 'wait', for: gate }];
  });

  let read = 0;
  let opened = 0;
  const received = (byteCount: number) => {
    read += byteCount;
    for (let next = gates[opened]; next && next.opensAt <= read; next = gates[opened]) {
      next.gate.open();
      opened += 1;
    }
  };
  return { steps, received, fetch: notifyingFetch(received) };
}

/**
 * Returns a `fetch` that calls `received` after each chunk. The chunk is then already in the queue of the
 * stream, which does not join chunks.
 */
function notifyingFetch(received: (byteCount: number) => void): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const notifying = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        received(chunk.length);
      },
    });
    const { status, statusText, headers } = response;
    const body = response.body?.pipeThrough(notifying) ?? null;
    return new Response(body, { status, statusText, headers });
  };
}
