import { type AgentEvent, agentEvents, type Batch, Folder, type FoldState } from '@millrace/core';
import type { Log } from '@millrace/log';

export interface EventSource {
  readonly log: Log;
  /** The session as the run found it. Rejects where there was no run. */
  readonly begun: Promise<FoldState>;
  /** Aborts when nothing more comes. */
  readonly over: AbortSignal;
  /** The offset of the last record that the run told. */
  readonly through: () => number;
}

/** A run's events from its first record on, for one reader, who may be as late and as slow as he likes. */
export async function* runEvents({
  log,
  begun,
  over,
  through,
}: EventSource): AsyncGenerator<AgentEvent> {
  const before = await begun.catch(() => undefined);
  if (before === undefined) return;
  const { session, through: from } = before;
  const folder = new Folder(before);
  const own = (batch: Batch) => (over.aborted ? cutAt(batch, through()) : batch);
  for await (const batch of log.follow(session, { from, signal: over })) {
    for (const event of eventsOf(folder, own(batch))) yield event;
    if (over.aborted && folder.state.through >= through()) return;
  }
  // The run ended while this reader was behind: the rest is in the log.
  while (folder.state.through < through()) {
    const batch = await log.read(session, { from: folder.state.through });
    if (batch.through <= folder.state.through) return;
    for (const event of eventsOf(folder, own(batch))) yield event;
  }
}

/** Without what later runs have said. */
function cutAt({ after, through, records }: Batch, last: number): Batch {
  if (through <= last) return { after, through, records };
  return { after, through: last, records: records.filter(({ offset }) => offset <= last) };
}

function eventsOf(folder: Folder, batch: Batch): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  folder.addBatch(batch, (old, record, state) => events.push(...agentEvents(old, record, state)));
  return events;
}
