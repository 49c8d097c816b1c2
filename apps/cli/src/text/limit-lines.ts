import { createInterface, type Interface } from 'node:readline/promises';
import { Readable } from 'node:stream';

interface LimitLinesOptions {
  /** Maximum length of a line, in bytes. */
  readonly maxBytes: number;
  /** Called for each line that is too long. */
  readonly onProblem: (problem: string) => void;
}

interface ReadLinesOptions extends LimitLinesOptions {
  /** Ends the lines. */
  readonly signal: AbortSignal;
}

/** Reads the lines of a program that sends messages. Lines that are too long are replaced as in `limitLines`. */
export function readLimitedLines(
  stdin: NodeJS.ReadableStream,
  { signal, ...limits }: ReadLinesOptions,
): Interface {
  const input = Readable.toWeb(stdin as Readable) as ReadableStream<Uint8Array>;
  const limited = input.pipeThrough(limitLines(limits));
  return createInterface({
    input: Readable.fromWeb(limited as Parameters<typeof Readable.fromWeb>[0]),
    crlfDelay: Number.POSITIVE_INFINITY,
    signal,
  });
}

/** The message that replaces a line that is too long. It is not JSON, so the sender of the line gets a parse error. */
const replacement = new TextEncoder().encode('too long\n');
const newline = 0x0a;

/**
 * Replaces lines that are too long by a line that is not a message. The sender then gets a parse error, and
 * the connection stays open. Only the bytes of the current line are stored.
 */
export function limitLines({
  maxBytes,
  onProblem,
}: LimitLinesOptions): TransformStream<Uint8Array, Uint8Array> {
  let line: Uint8Array[] = [];
  let length = 0;
  const end = (controller: TransformStreamDefaultController<Uint8Array>) => {
    if (length > maxBytes) {
      onProblem(`A message of ${length} bytes arrived. At most ${maxBytes} are possible.`);
      controller.enqueue(replacement);
    } else for (const piece of line) controller.enqueue(piece);
    line = [];
    length = 0;
  };
  const add = (piece: Uint8Array) => {
    length += piece.length;
    if (length <= maxBytes) line.push(piece);
    else line = [];
  };
  return new TransformStream({
    transform(chunk, controller) {
      for (let from = 0; from < chunk.length; ) {
        const at = chunk.indexOf(newline, from);
        const to = at === -1 ? chunk.length : at + 1;
        add(chunk.subarray(from, to));
        if (at !== -1) end(controller);
        from = to;
      }
    },
    flush: (controller) => end(controller),
  });
}
