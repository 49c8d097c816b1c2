import { defaultLimits } from '../limits.ts';
import { type JsonChange, JsonChangeLog } from './json-change-log.ts';
import { JsonScanner } from './json-scanner.ts';
import { JsonTree } from './json-tree.ts';
import type { JsonFailure, JsonLimits, JsonResult, JsonValue } from './json-value.ts';

export type { JsonChange } from './json-change-log.ts';
export type { JsonPath } from './json-tree.ts';
export type { JsonFailure, JsonFailureCode, JsonLimits, JsonResult } from './json-value.ts';

/**
 * The live value of JSON that comes in as fragments of text, at a cost per fragment that depends
 * only on the fragment. It takes what JSON.parse takes, wherever the text is cut.
 *
 * @example
 * const json = new PartialJson();
 * json.feed('{"city":"Ber'); // set [] {}, set ['city'] 'Ber'
 * json.feed('lin","days":3'); // append ['city'] 'lin'; a number may go on, so no 3 yet
 * json.value; // { city: 'Berlin' }
 * json.feed('}'); // set ['days'] 3
 * json.end(); // { ok: true, value: { city: 'Berlin', days: 3 } }
 */
export class PartialJson {
  readonly #tree = new JsonTree();
  readonly #log = new JsonChangeLog(this.#tree);
  readonly #scanner: JsonScanner;

  constructor(limits: JsonLimits = defaultLimits) {
    this.#scanner = new JsonScanner(this.#log, limits);
  }

  /**
   * Takes the next fragment and says what it changed; nothing any more after a failure. Very many
   * changes are told as one, which sets the whole value (see JsonChange).
   */
  feed(fragment: string): readonly JsonChange[] {
    this.#scanner.scan(fragment);
    return this.#log.take();
  }

  /**
   * The value so far, undefined before it starts. An immutable snapshot: what did not change since
   * an earlier read is the same object, and what was read earlier never changes.
   */
  get value(): JsonValue | undefined {
    return this.#tree.value;
  }

  get failure(): JsonFailure | undefined {
    return this.#scanner.failure;
  }

  /** The text is over: the whole value, or why it is none. */
  end(): JsonResult {
    const failure = this.#scanner.end();
    return failure ? { ok: false, failure } : { ok: true, value: this.#tree.value ?? null };
  }
}
