import { Folder, type Item, type SessionId, transcript } from '@millrace/core';
import { type Log, LogError, type SessionInfo } from '@millrace/log';

/** A session as lists show it. */
export interface SessionSummary {
  readonly id: SessionId;
  /** The first words that somebody said in it, in one line. */
  readonly title: string;
  /** The folder that it is about; unknown of sub-agents and of what other programs made. */
  readonly cwd: string | undefined;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  readonly through: number;
  /** Something was cut short, waits for an answer, or is in its queue. */
  readonly hasWork: boolean;
  /** Who drives it now. */
  readonly holder: string | undefined;
}

/** What somebody said first stands at the beginning; a page has at least one record, however long. */
const headBytes = 1024;
const maxPages = 16;
const titleLength = 200;

export async function summaryOf(
  log: Log,
  info: SessionInfo,
  holder: string | undefined,
): Promise<SessionSummary> {
  const { session: id, changedAt, through, hasWork } = info;
  const first = info.isDamaged ? undefined : await firstWords(log, info);
  const cwd = first?.metadata?.['cwd'];
  return {
    id,
    title: info.isDamaged ? '(damaged)' : titleOf(first),
    cwd: typeof cwd === 'string' ? cwd : undefined,
    ...{ changedAt, through, hasWork, holder },
  };
}

/** The first item of a user that says anything. */
async function firstWords(log: Log, { session, through }: SessionInfo): Promise<Item | undefined> {
  const folder = new Folder(session);
  for (let page = 0; page < maxPages && folder.state.through < through; page++) {
    const from = folder.state.through;
    const batch = await log.read(session, { from, maxBytes: headBytes }).catch(unreadable);
    if (batch === undefined || folder.addBatch(batch).outcome !== 'applied') return undefined;
    const said = transcript(folder.state).find(
      ({ kind, parts }) => kind === 'user' && parts.some((part) => part.kind === 'text'),
    );
    if (said !== undefined) return said;
  }
  return transcript(folder.state).find(({ kind }) => kind === 'user');
}

/** One session that cannot be read is no reason to list none. */
function unreadable(error: unknown): undefined {
  if (error instanceof LogError) return undefined;
  throw error;
}

function titleOf(item: Item | undefined): string {
  if (item?.redacted) return '(redacted)';
  const text = item?.parts.find((part) => part.kind === 'text')?.text ?? '';
  const words = text
    .slice(0, titleLength * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return words.slice(0, titleLength).toWellFormed();
}
