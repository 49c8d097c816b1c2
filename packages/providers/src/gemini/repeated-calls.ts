import type { JsonObject } from '@millrace/core';
import { objectIn, textIn } from '../json/fields.ts';

/**
 * Tells calls that come again, in a later event and without their signature, from equal calls that
 * are made again: by their ids, or else by the event, which has all of the earlier one's calls and no
 * others.
 */
export class RepeatedCalls {
  /** The calls of each event that signed one, until they have come again. */
  readonly #events = new Set<string>();
  /** Signed calls of earlier events that have an id. */
  readonly #calls = new Set<string>();
  /** The same of this event, whose parts are calls of their own. */
  #current: readonly string[] = [];
  #isEventRepeated = false;

  nextEvent(parts: readonly JsonObject[]): void {
    for (const call of this.#current) this.#calls.add(call);
    const calls = parts.flatMap(callsIn);
    const isSigned = (part: JsonObject) => textIn(part, 'thoughtSignature') !== undefined;
    const signed = parts.filter(isSigned).flatMap(callsIn);
    this.#current = signed.flatMap(keyWithId);
    this.#isEventRepeated = false;
    if (calls.length === 0 || !calls.every(hasArguments)) return;
    const event = JSON.stringify(calls);
    if (signed.length > 0) this.#events.add(event);
    else this.#isEventRepeated = this.#events.delete(event);
  }

  /** Is this call of the event, which nobody signed, one that came already? */
  has(call: JsonObject): boolean {
    return this.#isEventRepeated || keyWithId(call).some((key) => this.#calls.has(key));
  }
}

function callsIn(part: JsonObject): readonly JsonObject[] {
  const call = objectIn(part, 'functionCall');
  return call === undefined ? [] : [call];
}

/** Without arguments, calls that are made again look like those that come again. */
function hasArguments({ args }: JsonObject): boolean {
  return args !== undefined && args !== null;
}

function keyWithId(call: JsonObject): readonly string[] {
  return textIn(call, 'id') === undefined ? [] : [JSON.stringify(call)];
}
