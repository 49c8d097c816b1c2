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

export interface Driven {
  readonly characters: number;
  readonly events: number;
  /** From the moment a read's deltas were there to the moment their commit was told. */
  readonly longestDelayMs: number;
  readonly batches: readonly Batch[];
}

let count = 0;

/** Provider, log, fold and events: what is told was committed before. */
export async function drive(
  log: Log,
  reads: readonly Uint8Array[],
  session: SessionId = sessionId(`bench ${++count}`),
): Promise<Driven> {
  const driver = await log.open(session);
  const folder = new Folder(session);
  const item = { id: itemId('item1'), turn: 1, attempt: 1 };
  const provider = openaiChat({ model: 'bench', baseUrl, fetch: fetchOf(reads) });
  const told = new Told(folder);
  const started = { type: 'item_started', itemId: item.id, kind: 'assistant' } as const;
  const pending = [told.when(driver, [{ turn: 1, attempt: 1, fact: started }])];
  for await (const { deltas } of provider.stream({ items: [] }, { item, ids: countingIds() })) {
    const drafts = deltas.map((delta) => ({ turn: 1, attempt: 1, delta }));
    if (drafts.length > 0) pending.push(told.when(driver, drafts));
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
    events: told.events,
    longestDelayMs: told.longestDelayMs,
    batches: told.batches,
  };
}

/** Folds and tells each batch when it is committed. */
class Told {
  readonly #folder: Folder;
  readonly batches: Batch[] = [];
  events = 0;
  longestDelayMs = 0;

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  async when(driver: Driver, drafts: readonly DraftRecord[]): Promise<void> {
    const start = performance.now();
    const batch = await driver.append(drafts);
    this.longestDelayMs = Math.max(this.longestDelayMs, performance.now() - start);
    this.batches.push(batch);
    this.#folder.addBatch(batch, (before, record, state) => {
      for (const event of agentEvents(before, record, state)) this.#hear(event);
    });
  }

  #hear(_event: AgentEvent): void {
    this.events++;
  }
}
