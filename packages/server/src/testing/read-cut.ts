import type { CuttingProxy } from './cutting-proxy.ts';
import type { SseMessage } from './sse-message.ts';
import { SseReader } from './sse-reader.ts';

export interface CutOptions {
  readonly proxy: CuttingProxy;
  /** With the view, and where it begins. */
  readonly path: string;
  /** After how many bytes of each connection; the one after them is left whole. */
  readonly cuts: readonly number[];
  readonly isEnd?: ((message: SseMessage) => boolean) | undefined;
  /** A reader that begins anew has nothing of what came before. */
  readonly onRestart?: (() => void) | undefined;
  readonly onMessage: (message: SseMessage) => void;
}

/** More than any test needs: a reader that never gets to the end is a defect. */
const maxConnections = 1_000;

/** Reads a stream to its end as a browser does: cut off, it comes back with the last id that it has. */
export async function readCut(options: CutOptions): Promise<{ readonly connections: number }> {
  const {
    proxy,
    path,
    cuts,
    isEnd = ({ event }) => event === 'end',
    onRestart,
    onMessage,
  } = options;
  proxy.cutNext(...cuts);
  let lastEventId: string | undefined;
  for (let connections = 1; connections <= maxConnections; connections++) {
    const reader = new SseReader({ port: proxy.port, path, lastEventId, onMessage });
    await reader.over();
    lastEventId = reader.parser.lastId ?? lastEventId;
    const last = reader.messages.at(-1);
    if (last !== undefined && isEnd(last)) return { connections };
    if (lastEventId === undefined) onRestart?.();
  }
  throw new Error(`The end of ${path} did not come in ${maxConnections} connections`);
}
