import { ReaderTurns } from './reader-turns.ts';

interface SseReaderOptions {
  readonly onMessage: (data: string, event: string | undefined) => void;
  /** Called with lines that are not SSE. It is called before the next message, or at the end. */
  readonly onStrayText: (text: string) => void;
  /**
   * Maximum length of an event's data and of a line. Longer data is an error. No data is dropped silently.
   */
  readonly maxEventLength: number;
}

/** Thrown if the stream exceeds a limit, or contains an error field. */
export class SseError extends Error {
  /**
   * `too_long`: a line or an event exceeds the limit. `error_field`: the server sent an error in a
   * field named `error`, as old versions of llama.cpp do.
   */
  readonly type: 'too_long' | 'error_field';

  constructor(type: SseError['type'], message: string) {
    super(message);
    this.type = type;
  }
}

const fieldName = 'data: ';

/**
 * Converts bytes to SSE messages. It decodes text across reads, so that no character is split. It skips
 * comments, empty data, and comments that a gateway sent as data.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #lines: LineBuffer;
  readonly #options: SseReaderOptions;
  /** The data of the current event. Undefined before the first `data` line of the event. */
  #data: string | undefined;
  #event: string | undefined;
  /** Lines that are not SSE. If a server fails late, it may send a JSON body of several lines. */
  #stray = '';
  #problem: SseError | undefined;

  constructor(options: SseReaderOptions) {
    this.#options = options;
    this.#lines = new LineBuffer(options.maxEventLength + fieldName.length);
  }

  feed(bytes: Uint8Array): void {
    this.#feedText(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Ends the stream. If the last event has no blank line after it, the event is still emitted. */
  end(): void {
    this.#feedText(this.#decoder.decode());
    this.#feedText('\n\n');
    this.#emitStray();
  }

  #feedText(text: string): void {
    const lines = this.#lines.take(text);
    for (let start = 0; start < lines.length && this.#problem === undefined; ) {
      const end = lines.indexOf('\n', start);
      if (start === end) this.#endEvent();
      else this.#readLine(lines, start, end);
      start = end + 1;
    }
    if (this.#lines.isTooLong) this.#problem ??= this.#tooLong();
    if (this.#problem !== undefined) throw this.#problem;
  }

  #readLine(lines: string, start: number, end: number): void {
    // Nearly all lines are data lines. They are read without copying the line.
    if (lines.startsWith('data:', start)) {
      this.#addData(lines.slice(valueStart(lines, start + 'data:'.length), end));
      return;
    }
    const line = lines.slice(start, end);
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(valueStart(line, colon + 1));
    switch (field) {
      case 'data':
        return this.#addData(value);
      case 'event':
        this.#event = value || undefined;
        return;
      // Comments are ignored. Fields that only a browser's `EventSource` needs are ignored too.
      case '':
      case 'id':
      case 'retry':
        return;
      case 'error':
        this.#problem = new SseError('error_field', value);
        return;
      default:
        this.#addStray(line);
    }
  }

  #addData(value: string): void {
    const data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    if (data.length > this.#options.maxEventLength) this.#problem = this.#tooLong();
    this.#data = data;
  }

  #endEvent(): void {
    const data = this.#data;
    const event = this.#event;
    this.#data = undefined;
    this.#event = undefined;
    if (data === undefined) return;
    const isComment = data === '' ? event !== 'error' : data.startsWith(':');
    if (isComment) return;
    this.#emitStray();
    this.#options.onMessage(data, event);
  }

  #addStray(line: string): void {
    const isTooLong = this.#stray.length + line.length > this.#options.maxEventLength;
    if (isTooLong) this.#problem = this.#tooLong();
    else this.#stray += `${line}\n`;
  }

  #emitStray(): void {
    if (this.#stray === '') return;
    const stray = this.#stray;
    this.#stray = '';
    this.#options.onStrayText(stray);
  }

  #tooLong(): SseError {
    const limit = this.#options.maxEventLength;
    return new SseError('too_long', `an event is longer than the limit of ${limit} characters`);
  }
}

/** The options of `readSseData`. */
export interface SseDataOptions {
  /** Maximum length of an event's data and of a line. */
  readonly maxEventLength: number;
  /** Called when bytes arrive. Default: none. */
  readonly onBytes?: () => void;
}

/**
 * Yields the data of the events of a response. It ignores lines that are not SSE, and an event that the end of
 * the response cuts off.
 */
export async function* readSseData(
  { body }: Response,
  { maxEventLength, onBytes }: SseDataOptions,
): AsyncGenerator<string> {
  const texts: string[] = [];
  const onMessage = (data: string) => void texts.push(data);
  const reader = new SseReader({ onMessage, onStrayText: () => {}, maxEventLength });
  const turns = new ReaderTurns();
  for await (const bytes of body ?? []) {
    onBytes?.();
    reader.feed(bytes);
    await turns.count(1, bytes.length);
    for (const text of texts.splice(0)) {
      yield text;
      await turns.count(1);
    }
  }
}

/** Returns the position at which a value starts. One space after the colon is not part of the value. */
function valueStart(text: string, afterColon: number): number {
  return text.charAt(afterColon) === ' ' ? afterColon + 1 : afterColon;
}

/** Collects pieces of text into complete lines. */
export class LineBuffer {
  readonly #maxLength: number;
  /**
   * The pieces of an unfinished line. They are joined only at the end of the line, because a line of several
   * megabytes arrives in many reads.
   */
  readonly #held: string[] = [];
  #heldLength = 0;
  #endedInCr = false;
  #isTooLong = false;

  constructor(maxLineLength: number) {
    this.#maxLength = maxLineLength;
  }

  /** True after a line that was too long. The lines before that line were returned. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /**
   * Adds text and returns the complete lines. Each returned line ends with LF, whatever line end was
   * received.
   */
  take(text: string): string {
    const lines = this.#unify(text);
    const end = this.#fits(lines) ? lines.lastIndexOf('\n') + 1 : this.#endOfFitting(lines);
    const whole = end === 0 ? '' : this.#join(lines.slice(0, end));
    this.#hold(lines.slice(end));
    return whole;
  }

  /**
   * Converts all line ends to LF. A CRLF that is split between two reads is one line end. A CR at the end of
   * a read immediately counts as a line end.
   */
  #unify(text: string): string {
    const isSplit = this.#endedInCr && text.startsWith('\n');
    if (text !== '') this.#endedInCr = text.endsWith('\r');
    const rest = isSplit ? text.slice(1) : text;
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  }

  /**
   * Returns whether the text is too short to contain a line that is too long. Nearly all reads are short, so
   * the check of each line is skipped.
   */
  #fits(lines: string): boolean {
    return this.#heldLength + lines.length <= this.#maxLength;
  }

  /** Returns the end of the last line before the first line that is too long. */
  #endOfFitting(lines: string): number {
    let start = 0;
    let before = this.#heldLength;
    for (;;) {
      const next = lines.indexOf('\n', start);
      const end = next === -1 ? lines.length : next;
      this.#isTooLong ||= before + end - start > this.#maxLength;
      if (next === -1 || this.#isTooLong) return start;
      start = next + 1;
      before = 0;
    }
  }

  #join(last: string): string {
    if (this.#held.length === 0) return last;
    const whole = this.#held.join('') + last;
    this.#held.length = 0;
    this.#heldLength = 0;
    return whole;
  }

  #hold(rest: string): void {
    if (rest === '') return;
    this.#held.push(rest);
    this.#heldLength += rest.length;
  }
}
