import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { listSummaries, type SessionSummary } from '../../store/session-summaries.ts';
import { lastMessage } from './rewind-points.ts';

/** A session in a list. A fork is below the session from which it was copied. */
export interface SessionRow {
  readonly summary: SessionSummary;
  /** The number of ancestors of the session: the session from which it was copied, and so on. */
  readonly depth: number;
  /**
   * The name of the session. Without a name, it is the first message, and for a fork the last
   * message, because a fork has the same first message as its original.
   */
  readonly label: string;
}

interface SessionRowsOptions {
  readonly log: Log;
  /** Only sessions of this folder are listed. */
  readonly cwd: string;
  readonly names: ReadonlyMap<SessionId, string>;
}

/**
 * Returns the sessions of a folder as a tree. The session tree that changed last comes first. The
 * forks of a session are below it, newest first.
 */
export async function sessionRows(options: SessionRowsOptions): Promise<readonly SessionRow[]> {
  const { log, cwd, names } = options;
  const summaries = await listSummaries(log, { cwd });
  const known = new Set(summaries.map(({ id }) => id));
  const parentOf = ({ forkOf }: SessionSummary) =>
    forkOf !== undefined && known.has(forkOf) ? forkOf : undefined;
  const children = Map.groupBy(summaries, parentOf);
  const rows: SessionRow[] = [];
  const added = new Set<SessionId>();
  const add = async (summary: SessionSummary, depth: number) => {
    // Origins of imported sessions can form a cycle.
    if (added.has(summary.id)) return;
    added.add(summary.id);
    const label = names.get(summary.id) ?? (await unnamedLabel(log, summary, depth > 0));
    rows.push({ summary, depth, label });
    for (const child of children.get(summary.id) ?? []) await add(child, depth + 1);
  };
  // The summaries are in the order of their last change, so the tree of the first one comes first.
  const byId = new Map(summaries.map((summary) => [summary.id, summary]));
  for (const summary of summaries) await add(topOf(summary, byId, parentOf), 0);
  return rows;
}

/** Returns the oldest original of a session. */
function topOf(
  summary: SessionSummary,
  byId: ReadonlyMap<SessionId, SessionSummary>,
  parentOf: (of: SessionSummary) => SessionId | undefined,
): SessionSummary {
  let top = summary;
  for (let steps = 0; steps < byId.size; steps++) {
    const above = byId.get(parentOf(top) ?? top.id) ?? top;
    if (above === top) break;
    top = above;
  }
  return top;
}

async function unnamedLabel(
  log: Log,
  { id, title, through, forkThrough }: SessionSummary,
  isBelowOriginal: boolean,
): Promise<string> {
  if (!isBelowOriginal) return title || '(empty)';
  if (through === forkThrough) return '(a copy without new messages)';
  const last = await lastMessage(log, id).catch(() => '');
  return last.split('\n', 1)[0] || title || '(empty)';
}

/** Returns spaces and a mark that show the place of a session in the tree. */
export function treeIndent(depth: number): string {
  return depth === 0 ? '' : `${'  '.repeat(Math.min(depth, 10) - 1)}└ `;
}
