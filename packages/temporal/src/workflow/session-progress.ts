import type { FinishedItem } from '@millrace/agent/steps';
import { type JsonObject, sessionId } from '@millrace/core';
import { sleep, uuid4, workflowInfo } from '@temporalio/workflow';
import type { OwnerInput } from '../contract/activities.ts';
import { failureType } from './activities.ts';

/** Maximum JSON length of the items in a query result, in characters. Temporal accepts at most 2 MiB. */
const maxLength = 512 * 1024;

/**
 * The items that this execution has received. If they become too large, references replace the oldest items.
 */
export class SettledItems {
  readonly #items: FinishedItem[] = [];
  /** The index of the first item that can be a value. All earlier items are references. */
  #firstValue = 0;
  #length = 0;

  get items(): readonly FinishedItem[] {
    return this.#items;
  }

  /** Adds items. `through` is the offset up to which the log contains these items. */
  add(items: readonly FinishedItem[], session: string, through: number): void {
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

function lengthOf(one: FinishedItem): number {
  return one.by === 'value' ? JSON.stringify(one.item).length : 0;
}

/** Counts the steps of a workflow. A later step fences an earlier step that still runs. */
export class StepCounter {
  #count: number;

  constructor(count = 0) {
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Runs the next step with its number. After a reset, Temporal repeats the workflow and its count is lower
   * than before, so a step may be fenced. The count is then doubled until it is higher than the earlier
   * count.
   */
  async next<T>(work: (owner: OwnerInput) => Promise<T>): Promise<T> {
    const { workflowId, firstExecutionRunId: life } = workflowInfo();
    for (let tries = 0; ; tries++) {
      try {
        const step = ++this.#count;
        return await work({ owner: `temporal workflow ${workflowId}`, life, step });
      } catch (error) {
        if (failureType(error) !== 'millrace.fenced') throw error;
        this.#count *= 2;
        await sleep(Math.min(30_000, 200 * 2 ** tries));
      }
    }
  }
}

/** The number of commands that this workflow has sent in each session. */
const commandCounts = new Map<string, number>();

/** Sets the count to the count of the previous execution, if that is higher. */
export function raiseCommandCount(session: string, count: number): void {
  commandCounts.set(session, Math.max(commandCounts.get(session) ?? 0, count));
}

export function commandCount(session: string): number {
  return commandCounts.get(session) ?? 0;
}

/** Returns a unique key for a command. The log ignores a second command with the same key. */
export function nextCommandKey(session: string): string {
  const { workflowId, firstExecutionRunId } = workflowInfo();
  raiseCommandCount(session, commandCount(session) + 1);
  return `${workflowId}:${firstExecutionRunId}:${commandCount(session)}`;
}

/** Converts an input text to a user item. Items are returned unchanged. */
export function toItems(input: string | readonly JsonObject[]): readonly JsonObject[] {
  if (typeof input !== 'string') return input;
  return [{ id: uuid4(), kind: 'user', parts: [{ kind: 'text', text: input }] }];
}
