import { type JsonValue, parseJson } from '@millrace/core';
import { ReaderTurns } from '@millrace/providers';
import { ServerError } from '../../contract/server-error.ts';

interface LineLimits {
  /** The maximum length of a line in characters. */
  readonly maxLineLength: number;
  /** The maximum number of lines, including empty ones. */
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
  const turns = new ReaderTurns();
  const splitter = new LineSplitter(limits.maxLineLength);
  for await (const chunk of body) {
    await turns.count(1, chunk.length);
    for (const line of splitter.split(chunk)) {
      if (++lines > limits.maxLines) throw answerTooLarge(`more than ${limits.maxLines} lines`);
      // A long answer of one agent must not keep the server from its other work.
      const turn = turns.count(1);
      if (turn !== undefined) await turn;
      const value = parseLine(line, counts);
      if (value !== undefined) yield value;
    }
  }
  const last = parseLine(splitter.end(), counts);
  if (last !== undefined) yield last;
}

/** Returns undefined for an empty line, and for a line that is not JSON. */
function parseLine(line: string, counts: LineCounts): JsonValue | undefined {
  if (line.trim() === '') return undefined;
  const parsed = parseJson(line);
  if (parsed.ok) return parsed.value;
  counts.unreadable++;
  return undefined;
}

/** Splits a body into lines. */
class LineSplitter {
  readonly #maxLength: number;
  /** A chunk may end inside a character. */
  readonly #decoder = new TextDecoder();
  /** The pieces of a line whose end has not arrived yet. */
  #pieces: string[] = [];
  #length = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** Yields the lines that end in a chunk. */
  *split(chunk: Uint8Array): Generator<string> {
    const text = this.#decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      this.#add(text.slice(start, end));
      start = end + 1;
      yield this.#take();
    }
    if (start < text.length) this.#add(text.slice(start));
  }

  /** Returns the line without an end of line. Empty if there is none. */
  end(): string {
    this.#add(this.#decoder.decode());
    return this.#take();
  }

  #add(piece: string): void {
    this.#length += piece.length;
    if (this.#length > this.#maxLength)
      throw answerTooLarge(`a line of over ${this.#maxLength} characters`);
    this.#pieces.push(piece);
  }

  #take(): string {
    const line = this.#pieces.length === 1 ? (this.#pieces[0] ?? '') : this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    return line;
  }
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
