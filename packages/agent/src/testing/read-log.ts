import {
  type AgentEvent,
  agentEvents,
  type Batch,
  emptyState,
  Folder,
  type FoldState,
  fold,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Run } from '../contract/run.ts';

/** Returns all events of a run. */
export async function eventsOf(run: Run): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run.events) events.push(event);
  return events;
}

/** Returns the assistant's text in the events, of one turn or of all turns. */
export function textOfEvents(events: readonly AgentEvent[], turn?: number): string {
  return events
    .map((event) => {
      const isOf = turn === undefined || event.turn === turn;
      return event.type === 'assistant_text_delta' && isOf ? event.text : '';
    })
    .join('');
}

/** Folds batches of a log and collects their events. */
export class LogReader {
  readonly folder: Folder;
  readonly events: AgentEvent[] = [];

  constructor(session: SessionId) {
    this.folder = new Folder(session);
  }

  take(batch: Batch): void {
    this.folder.addBatch(batch, (...step) => this.events.push(...agentEvents(...step)));
  }

  /** Follows the log from the current position until the session is idle. */
  async follow(log: Log): Promise<this> {
    const { session, through: from } = this.folder.state;
    for await (const batch of log.follow(session, { from, until: 'idle' })) this.take(batch);
    return this;
  }
}

/** Folds records. Throws if they do not fold. */
export function foldRecords(session: SessionId, records: readonly LogRecord[]): FoldState {
  let state = emptyState(session);
  for (const record of records) {
    const next = fold(state, record);
    if (next.outcome !== 'applied') throw new Error(`Record ${record.offset} does not fold`);
    state = next.state;
  }
  return state;
}
