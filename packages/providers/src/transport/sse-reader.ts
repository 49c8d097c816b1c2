interface SseReaderOptions {
  readonly onMessage: (data: string, event: string | undefined) => void;
  /** Called with lines that are not SSE, before the next message or at the end. */
  readonly onStrayText: (text: string) => void;
  /**
   * Maximum length of one event's data and of one line. Longer data is an error, and no data is
   * dropped silently.
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
 * Converts bytes to SSE messages. It decodes text across reads, so that no character is split. It
 * skips comments, empty data, and comments that a gateway sent as data.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #lines: LineBuffer;
  readonly #options: SseReaderOptions;
  /** The data of the current event. Undefined before its first `data` line. */
  #data: string | undefined;
  #event: string | undefined;
  /** Lines that are not SSE. A server that fails late can send a JSON body over several lines. */
  #stray = '';
  #problem: SseError | undefined;

  constructor(options: SseReaderOptions) {
    this.#options = options;
    this.#lines = new LineBuffer(options.maxEventLength + fieldName.length);
  }

  feed(bytes: Uint8Array): void {
    this.#feedText(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Ends the stream. A last event without a blank line is emitted too. */
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
    // Nearly all lines are data, so they are read without a copy of the line.
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
      // Comments are ignored, and so are fields that only a browser's own reader needs.
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

/** Returns the start of a value. One space after the colon does not belong to the value. */
function valueStart(text: string, afterColon: number): number {
  return text.charAt(afterColon) === ' ' ? afterColon + 1 : afterColon;
}

/** Collects text into whole lines. */
export class LineBuffer {
  readonly #maxLength: number;
  /**
   * The pieces of an unfinished line. They are joined only at its end, because a line of several
   * megabytes arrives in many reads.
   */
  readonly #held: string[] = [];
  #heldLength = 0;
  #endedInCr = false;
  #isTooLong = false;

  constructor(maxLineLength: number) {
    this.#maxLength = maxLineLength;
  }

  /** True after a line that was too long. The lines before it were returned. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /**
   * Adds text and returns the lines that are complete. Each line ends with LF, whatever line end
   * was sent.
   */
  take(text: string): string {
    const lines = this.#unify(text);
    const end = this.#fits(lines) ? lines.lastIndexOf('\n') + 1 : this.#endOfFitting(lines);
    const whole = end === 0 ? '' : this.#join(lines.slice(0, end));
    this.#hold(lines.slice(end));
    return whole;
  }

  /**
   * Converts all line ends to LF. A CRLF that is split between two reads is one line end. A CR at
   * the end of a read counts as a line end at once.
   */
  #unify(text: string): string {
    const isSplit = this.#endedInCr && text.startsWith('\n');
    if (text !== '') this.#endedInCr = text.endsWith('\r');
    const rest = isSplit ? text.slice(1) : text;
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  }

  /**
   * Returns whether the text cannot contain a line that is too long. Nearly all reads are short and
   * skip the check of each line.
   */
  #fits(lines: string): boolean {
    return this.#heldLength + lines.length <= this.#maxLength;
  }

  /** Returns the end of the last line before the line that is too long. */
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
