import {
  type AgentEvent,
  agentEvents,
  type Batch,
  countingIds,
  type DraftRecord,
  Folder,
  itemId,
  type SessionId,
  sessionId,
  transcript,
} from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import { openaiChat } from '@millrace/providers';
import { baseUrl, fetchOf } from '../injected-fetch.ts';

export interface DriveResult {
  readonly characters: number;
  readonly events: number;
  /** The longest time between the reading of deltas and their commit. */
  readonly longestDelayMs: number;
  readonly batches: readonly Batch[];
}

let count = 0;

/** Runs provider, log, fold and events. Events are published only after the commit. */
export async function drive(
  log: Log,
  reads: readonly Uint8Array[],
  session: SessionId = sessionId(`bench ${++count}`),
): Promise<DriveResult> {
  const driver = await log.open(session);
  const folder = new Folder(session);
  const item = { id: itemId('item1'), turn: 1, attempt: 1 };
  const provider = openaiChat({ model: 'bench', baseUrl, fetch: fetchOf(reads) });
  const committed = new CommittedBatches(folder);
  const started = { type: 'item_started', itemId: item.id, kind: 'assistant' } as const;
  const pending = [committed.append(driver, [{ turn: 1, attempt: 1, fact: started }])];
  for await (const { deltas } of provider.stream({ items: [] }, { item, ids: countingIds() })) {
    const drafts = deltas.map((delta) => ({ turn: 1, attempt: 1, delta }));
    if (drafts.length > 0) pending.push(committed.append(driver, drafts));
  }
  await Promise.all(pending);
  await driver.release();
  const parts = transcript(folder.state).flatMap((one) => one.parts);
  const characters = parts.reduce(
    (sum, part) => sum + (part.kind === 'text' ? part.text.length : 0),
    0,
  );
  return {
    characters,
    events: committed.events,
    longestDelayMs: committed.longestDelayMs,
    batches: committed.batches,
  };
}

/** Appends drafts, then folds each committed batch and counts its events. */
class CommittedBatches {
  readonly #folder: Folder;
  readonly batches: Batch[] = [];
  events = 0;
  longestDelayMs = 0;

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  async append(driver: Driver, drafts: readonly DraftRecord[]): Promise<void> {
    const start = performance.now();
    const batch = await driver.append(drafts);
    this.longestDelayMs = Math.max(this.longestDelayMs, performance.now() - start);
    this.batches.push(batch);
    this.#folder.addBatch(batch, (before, record, state) => {
      for (const event of agentEvents(before, record, state)) this.#countEvent(event);
    });
  }

  #countEvent(_event: AgentEvent): void {
    this.events++;
  }
}
