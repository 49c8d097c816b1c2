import { defaultContentLimits } from '../limits.ts';
import { type JsonChange, JsonChangeLog } from './json-change-log.ts';
import { JsonScanner } from './json-scanner.ts';
import { JsonTree } from './json-tree.ts';
import type { JsonFailure, JsonLimits, JsonResult, JsonValue } from './json-value.ts';

export type { JsonChange } from './json-change-log.ts';
export type { JsonPath } from './json-tree.ts';
export type { JsonFailure, JsonFailureCode, JsonLimits, JsonResult } from './json-value.ts';

/**
 * Parses JSON text that arrives in fragments. Its current value is available at any time. The cost of a
 * fragment depends only on its length. PartialJson accepts exactly the texts that JSON.parse accepts, for any
 * split into fragments.
 *
 * @example const json = new PartialJson(); json.feed('{"city":"Ber'); // set [] {}, set ['city'] 'Ber'
 * json.feed('lin","days":3'); // append ['city'] 'lin'; 3 is not set yet, because more digits can follow
 * json.value; // { city: 'Berlin' } json.feed('}'); // set ['days'] 3 json.end(); // { ok: true, value: {
 * city: 'Berlin', days: 3 } }
 */
export class PartialJson {
  readonly #tree = new JsonTree();
  readonly #log = new JsonChangeLog(this.#tree);
  readonly #scanner: JsonScanner;

  constructor(limits: JsonLimits = defaultContentLimits) {
    this.#scanner = new JsonScanner(this.#log, limits);
  }

  /**
   * Adds a fragment and returns the changes that it made. After a failure it returns no changes. If there are
   * too many changes, one change replaces them and sets the whole value (see JsonChange).
   */
  feed(fragment: string): readonly JsonChange[] {
    this.#scanner.scan(fragment);
    return this.#log.take();
  }

  /**
   * The value of the text that has arrived. Undefined before the value starts. It is an immutable snapshot,
   * which shares unchanged parts with earlier snapshots.
   */
  get value(): JsonValue | undefined {
    return this.#tree.value;
  }

  get failure(): JsonFailure | undefined {
    return this.#scanner.failure;
  }

  /** Ends the text and returns the whole value, or the reason why the text is not JSON. */
  end(): JsonResult {
    const failure = this.#scanner.end();
    return failure ? { ok: false, failure } : { ok: true, value: this.#tree.value ?? null };
  }
}
