import type { Settled } from '@millrace/agent/steps';
import { type JsonObject, sessionId } from '@millrace/core';
import { sleep, uuid4, workflowInfo } from '@temporalio/workflow';
import type { OwnerInput } from '../contract/activities.ts';
import { typeOf } from './activities.ts';

/** Of the JSON of what a query answers: Temporal takes no more than 2 MiB. */
const maxLength = 512 * 1024;

/** What this execution was told of; where it is too much, what was said first is known by reference. */
export class KnownItems {
  readonly #items: Settled[] = [];
  /** Those before it are references. */
  #firstValue = 0;
  #length = 0;

  get items(): readonly Settled[] {
    return this.#items;
  }

  /** By `through` the session's log has them. */
  add(items: readonly Settled[], session: string, through: number): void {
    this.#items.push(...items);
    for (const one of items) this.#length += lengthOf(one);
    for (; this.#length > maxLength; this.#firstValue++) this.#refer(session, through);
  }

  #refer(session: string, through: number): void {
    const one = this.#items[this.#firstValue];
    if (one?.by !== 'value') return;
    this.#length -= lengthOf(one);
    const { itemId } = one;
    const place = { session: sessionId(session), through };
    this.#items[this.#firstValue] = { by: 'reference', itemId, ...place };
  }
}

function lengthOf(one: Settled): number {
  return one.by === 'value' ? JSON.stringify(one.item).length : 0;
}

/** The steps of a workflow, counted: a later one fences what is left of an earlier one. */
export class OwnSteps {
  #count: number;

  constructor(count = 0) {
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }

  /** A workflow that was reset counts anew, and has to come after what it did before. */
  async next<T>(work: (owner: OwnerInput) => Promise<T>): Promise<T> {
    const { workflowId, firstExecutionRunId: life } = workflowInfo();
    for (let tries = 0; ; tries++) {
      try {
        const step = ++this.#count;
        return await work({ owner: `temporal workflow ${workflowId}`, life, step });
      } catch (error) {
        if (typeOf(error) !== 'millrace.fenced') throw error;
        this.#count *= 2;
        await sleep(Math.min(30_000, 200 * 2 ** tries));
      }
    }
  }
}

/** How much this workflow said in each session, by whichever object. */
const saidIn = new Map<string, number>();

/** From here on counts what is said in a session: an execution before had so much. */
export function countFrom(session: string, said: number): void {
  saidIn.set(session, Math.max(saidIn.get(session) ?? 0, said));
}

export function countOf(session: string): number {
  return saidIn.get(session) ?? 0;
}

/** Each thing that is said has its own key: what has the same on the log is the same thing. */
export function nextKey(session: string): string {
  const { workflowId, firstExecutionRunId } = workflowInfo();
  countFrom(session, countOf(session) + 1);
  return `${workflowId}:${firstExecutionRunId}:${countOf(session)}`;
}

/** Texts become the items that they stand for. */
export function itemsOf(input: string | readonly JsonObject[]): readonly JsonObject[] {
  if (typeof input !== 'string') return input;
  return [{ id: uuid4(), kind: 'user', parts: [{ kind: 'text', text: input }] }];
}
