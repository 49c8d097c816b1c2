import { createParser, type EventSourceParser, type ParseError } from 'eventsource-parser';
import { LineBuffer } from './line-buffer.ts';

export interface SseReaderOptions {
  readonly onMessage: (data: string, event: string | undefined) => void;
  /** Lines that are no SSE: told before the message that follows them, or else at the end. */
  readonly onStray: (text: string) => void;
  /** The data of one event, or one line, longer than this is refused: nothing is dropped silently. */
  readonly maxEventLength: number;
}

/** A stream that is not what it says. */
export class SseError extends Error {
  /** `error_field`: the server complained in a field of that name, which old llama.cpp does. */
  readonly type: 'too_long' | 'error_field';

  constructor(type: SseError['type'], message: string) {
    super(message);
    this.type = type;
  }
}

const fieldName = 'data: ';

/**
 * Bytes to messages. Text is decoded across reads, so that no character is cut; comments, empty data
 * and comments that a gateway wrapped as data are no messages.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #lines: LineBuffer;
  readonly #parser: EventSourceParser;
  readonly #options: SseReaderOptions;
  /** A server that fails late may say so as a bare JSON body, over several lines. */
  #stray = '';
  #problem: SseError | undefined;

  constructor(options: SseReaderOptions) {
    this.#options = options;
    this.#lines = new LineBuffer(options.maxEventLength + fieldName.length);
    this.#parser = createParser({
      maxBufferSize: options.maxEventLength,
      onEvent: ({ event, data }) => this.#onEvent(data, event),
      onError: (error) => this.#onError(error),
    });
  }

  feed(bytes: Uint8Array): void {
    this.#feedText(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The stream is over: an event that no blank line ended is taken as if one had. */
  end(): void {
    this.#feedText(this.#decoder.decode());
    this.#feedText('\n\n');
    this.#tellStray();
  }

  #feedText(text: string): void {
    this.#parser.feed(this.#lines.take(text));
    if (this.#lines.isTooLong) this.#problem ??= this.#tooLong();
    if (this.#problem !== undefined) throw this.#problem;
  }

  #onEvent(data: string, event: string | undefined): void {
    if (this.#problem !== undefined) return;
    if (data.length > this.#options.maxEventLength) {
      this.#problem = this.#tooLong();
      return;
    }
    const isComment = data === '' ? event !== 'error' : data.startsWith(':');
    if (isComment) return;
    this.#tellStray();
    this.#options.onMessage(data, event);
  }

  #onError({ type, field, value, line = '' }: ParseError): void {
    if (type === 'invalid-retry') return;
    const isTooLong = this.#stray.length + line.length > this.#options.maxEventLength;
    if (field === 'error') this.#problem ??= new SseError('error_field', value ?? '');
    else if (type === 'max-buffer-size-exceeded' || isTooLong) this.#problem ??= this.#tooLong();
    else this.#stray += `${line}\n`;
  }

  #tellStray(): void {
    if (this.#stray === '') return;
    const stray = this.#stray;
    this.#stray = '';
    this.#options.onStray(stray);
  }

  #tooLong(): SseError {
    const limit = this.#options.maxEventLength;
    return new SseError('too_long', `an event is longer than the limit of ${limit} characters`);
  }
}
