import { type JsonLimits, parseJson } from '@millrace/core';
import { CassetteError } from '../cassette-error.ts';
import { maxCassetteLength } from '../cassette-limits.ts';
import { LineFields, misfit } from './line-fields.ts';

export interface CassetteLine<Type extends string> {
  readonly type: Type;
  readonly fields: LineFields;
}

const limits: JsonLimits = { maxDepth: 16, maxTextLength: maxCassetteLength };

/** The lines of a cassette one after the other, each an object with a type that may stand there. */
export class CassetteLines {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(text: string) {
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    this.#lines = lines;
  }

  get isOver(): boolean {
    return this.#next >= this.#lines.length;
  }

  take<Type extends string>(...types: readonly Type[]): CassetteLine<Type> {
    const text = this.#lines[this.#next++];
    const line = this.#next;
    if (text === undefined) throw unfinished(line, types);
    const parsed = parseJson(text, limits);
    if (!parsed.ok) {
      const { code, position, message } = parsed.failure;
      const why = `${message} (character ${position + 1})`;
      throw misfit(line, '$', why, code === 'too_large' ? code : 'not_json');
    }
    const fields = new LineFields(line, parsed.value);
    return { type: fields.oneOf('type', types), fields };
  }
}

function unfinished(line: number, types: readonly string[]): CassetteError {
  const message = `Cannot read line ${line} of a cassette: the text ends before it, where a line of type ${types.join(' or ')} should come; the recording was not written to its end`;
  return new CassetteError('unfinished', message, { line });
}
