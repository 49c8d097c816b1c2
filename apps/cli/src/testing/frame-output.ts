import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

/** A terminal for Ink with `debug`, where each frame is one write, and whole. */
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

  /** The rows of the last frame, without colours and spaces at their ends. */
  get screen(): readonly string[] {
    const rows = stripVTControlCharacters(this.frame).split('\n');
    return rows.map((row) => row.trimEnd());
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.writes.push(String(chunk));
    done();
  }
}
