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

/** All that a run tells, read to its end. */
export async function eventsOf(run: Run): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run.events) events.push(event);
  return events;
}

/** The text that was told of the assistant, joined; of one turn, or of all. */
export function textOfEvents(events: readonly AgentEvent[], turn?: number): string {
  return events
    .map((event) => {
      const isOf = turn === undefined || event.turn === turn;
      return event.type === 'assistant_text_delta' && isOf ? event.text : '';
    })
    .join('');
}

/** What a reader of a log makes of its batches: events, and the state that they come to. */
export class LogReader {
  readonly folder: Folder;
  readonly events: AgentEvent[] = [];

  constructor(session: SessionId) {
    this.folder = new Folder(session);
  }

  take(batch: Batch): void {
    this.folder.addBatch(batch, (...step) => this.events.push(...agentEvents(...step)));
  }

  /** From where it is, until nobody works on the session. */
  async follow(log: Log): Promise<this> {
    const { session, through: from } = this.folder.state;
    for await (const batch of log.follow(session, { from, until: 'idle' })) this.take(batch);
    return this;
  }
}

/** What the first records of a session come to. They must fold. */
export function foldRecords(session: SessionId, records: readonly LogRecord[]): FoldState {
  let state = emptyState(session);
  for (const record of records) {
    const next = fold(state, record);
    if (next.outcome !== 'applied') throw new Error(`Record ${record.offset} does not fold`);
    state = next.state;
  }
  return state;
}
