import { Writable } from 'node:stream';

/** A stream that keeps what is written to it. */
export class Captured extends Writable {
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

/** A stream that fails, as a device or a pipe does, after so many writes. */
export class Failing extends Captured {
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
