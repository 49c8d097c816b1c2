import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

/** A stream that stores its output. */
export class CapturedOutput extends Writable {
  readonly isTTY: boolean;
  readonly columns: number = 80;
  readonly writes: string[] = [];

  constructor({ isTTY = false }: { readonly isTTY?: boolean } = {}) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
  }

  get text(): string {
    return this.writes.join('');
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.writes.push(String(chunk));
    done();
  }
}

/** A stream that fails after a number of writes, as a full device or a closed pipe does. */
export class FailingOutput extends CapturedOutput {
  readonly #code: string;
  readonly #after: number;

  constructor(code: string, after = 0) {
    super();
    this.#code = code;
    this.#after = after;
  }

  override _write(chunk: string | Buffer, encoding: string, done: (error?: Error) => void): void {
    if (this.writes.length < this.#after) return super._write(chunk, encoding, done);
    done(Object.assign(new Error(`write ${this.#code}`), { code: this.#code }));
  }
}

/** A terminal for Ink's `debug` mode, in which each write is a complete frame. */
export class FrameOutput extends Writable {
  readonly isTTY = true;
  readonly columns: number;
  readonly rows = 24;
  readonly writes: string[] = [];

  constructor(columns = 80) {
    super({ decodeStrings: false });
    this.columns = columns;
  }

  /** The last frame. */
  get frame(): string {
    return this.writes.findLast((text) => stripVTControlCharacters(text).trim() !== '') ?? '';
  }

  /** The rows of the last frame, without colors and trailing spaces. */
  get screen(): readonly string[] {
    const rows = stripVTControlCharacters(this.frame).split('\n');
    return rows.map((row) => row.trimEnd());
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.writes.push(String(chunk));
    done();
  }
}
