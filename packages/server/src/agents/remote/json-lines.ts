import { type JsonValue, parseJson } from '@millrace/core';
import { ServerError } from '../../contract/server-error.ts';

interface LineLimits {
  /** The maximum length of a line in bytes. */
  readonly maxLineLength: number;
  readonly maxLines: number;
}

const lineLimits: LineLimits = { maxLineLength: 8 * 2 ** 20, maxLines: 1_000_000 };

interface LineCounts {
  /** The number of lines that are not JSON. */
  unreadable: number;
}

/**
 * Yields the parsed lines of a body of JSON lines as it arrives. Lines that are not JSON are skipped and
 * counted.
 */
export async function* jsonLines(
  body: AsyncIterable<Uint8Array>,
  counts: LineCounts,
  limits: LineLimits = lineLimits,
): AsyncGenerator<JsonValue> {
  let lines = 0;
  for await (const line of splitLines(body, limits.maxLineLength)) {
    if (line.trim() === '') continue;
    if (++lines > limits.maxLines) throw answerTooLarge(`more than ${limits.maxLines} lines`);
    const parsed = parseJson(line);
    if (parsed.ok) yield parsed.value;
    else counts.unreadable++;
  }
}

const lineEnd = 10;

/** Splits a body into lines. It splits bytes and not text, because a chunk may end inside a character. */
async function* splitLines(
  body: AsyncIterable<Uint8Array>,
  maxLineLength: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: Uint8Array[] = [];
  let length = 0;
  const line = () => {
    const text = decoder.decode(Buffer.concat(pieces));
    pieces = [];
    length = 0;
    return text;
  };
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, start)) {
      pieces.push(chunk.subarray(start, end));
      if (length + end - start > maxLineLength)
        throw answerTooLarge(`a line of over ${maxLineLength} bytes`);
      yield line();
      start = end + 1;
    }
    pieces.push(chunk.slice(start));
    length += chunk.length - start;
    if (length > maxLineLength) throw answerTooLarge(`a line of over ${maxLineLength} bytes`);
  }
  if (length > 0) yield line();
}

function answerTooLarge(what: string): ServerError {
  return new ServerError('agent_failed', `Cannot accept the agent's answer: it has ${what}`);
}

/**
 * Detects missing and repeated lines if the agent numbers its lines 1, 2, 3 …. Lines without numbers are
 * accepted.
 */
export class LineSequence {
  #last = 0;
  #repeated = 0;

  get repeated(): number {
    return this.#repeated;
  }

  /** Returns false for a repeated line. Throws if earlier lines are missing. */
  isNew(sequence: unknown): boolean {
    if (!Number.isSafeInteger(sequence)) return true;
    const number = Number(sequence);
    if (number <= this.#last) {
      this.#repeated++;
      return false;
    }
    if (number !== this.#last + 1) throw linesMissing(this.#last, number);
    this.#last = number;
    return true;
  }
}

function linesMissing(last: number, next: number): ServerError {
  const message = `Cannot continue the agent's answer: line ${next} followed line ${last}, and the lines between are lost`;
  return new ServerError('agent_failed', message, { last, next });
}
