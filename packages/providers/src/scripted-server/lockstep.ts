import { newGate, type Step } from './script.ts';

/** A stream of which each piece is sent when the client has read the one before. */
export interface Lockstep {
  /** For one reply: each piece, and a gate after it. */
  readonly steps: readonly Step[];
  /** A client of another kind says how many more bytes of the body it has read. */
  received(byteCount: number): void;
  /** The real fetch, with a body that says so by itself. */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Bytes that reach the client in these pieces for certain: no two come in one read, whatever TCP, the
 * kernel and the client's own buffers join. A long piece may come in several.
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

/** A chunk waits in the stream's own queue, where chunks stay apart, before the next one is let go. */
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
