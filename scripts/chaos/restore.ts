import { copyFileSync, rmSync } from 'node:fs';
import { encodeRecord, isMillraceError, type LogRecord, sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import type { FaultReport } from './faults.ts';
import type { HistoryEvent } from './history.ts';

/** The records of each session. */
export type Finals = ReadonlyMap<string, readonly LogRecord[]>;

/** A backup of the log file. It is made while processes write to the file. */
export class Backup {
  readonly #path: string;
  /** The reports that the processes sent before the backup started. */
  #reported: readonly HistoryEvent[] = [];
  #isMade = false;

  constructor(path: string) {
    this.#path = path;
  }

  async make(logPath: string, events: readonly HistoryEvent[]): Promise<void> {
    this.#reported = [...events];
    const log = sqliteLog({ path: logPath });
    try {
      await log.backup(this.#path);
      this.#isMade = true;
    } finally {
      await log.close();
    }
  }

  /**
   * Replaces the log file with the backup. Then it checks three things. The backup contains all
   * records that were acknowledged before it started. The backup equals the beginning of the later
   * log. The restored log refuses cursors of the later log.
   */
  async restore(logPath: string, before: Finals, faults: FaultReport): Promise<void> {
    if (!this.#isMade) return;
    const old = await incarnations(logPath, [...before.keys()]);
    for (const end of ['', '-wal', '-shm']) rmSync(logPath + end, { force: true });
    copyFileSync(this.#path, logPath);
    rmSync(this.#path);
    const after = await readAll(logPath, [...before.keys()]);
    for (const [session, records] of after) {
      const full = before.get(session) ?? [];
      if (records.some((record, at) => !isSame(record, full[at])))
        faults.add('invented', `${session} differs from the log before the restore`);
    }
    this.#checkAcknowledged(after, faults);
    const log = sqliteLog({ path: logPath });
    for (const [session, incarnation] of old) {
      const refusal = await log
        .read(sessionId(session), { from: 1, incarnation })
        .then(() => 'none', codeOf);
      if (refusal !== 'rewound' && refusal !== 'no_session')
        faults.add(
          'invented',
          `${session}: an old cursor was accepted after the restore (${refusal})`,
        );
    }
    await log.close();
  }

  #checkAcknowledged(after: Finals, faults: FaultReport): void {
    const sessionOf = new Map<string, string>();
    for (const event of this.#reported) {
      if (event.type === 'attempted') sessionOf.set(event.append, event.session);
      if (event.type !== 'stored') continue;
      const session = sessionOf.get(event.append) ?? '';
      const through = after.get(session)?.at(-1)?.offset ?? 0;
      if (through < event.through)
        faults.add('lost', `${event.append} was acknowledged before the backup, which lacks it`);
    }
  }
}

/** Reads all records of the sessions. Sessions that do not exist are skipped. */
export async function readAll(path: string, sessions: readonly string[]): Promise<Finals> {
  const log = sqliteLog({ path });
  const all = new Map<string, readonly LogRecord[]>();
  for (const session of sessions) {
    const records: LogRecord[] = [];
    all.set(session, records);
    // The restored backup may be older than this session.
    if ((await log.info(sessionId(session))) === undefined) continue;
    for (let from = 0; ; ) {
      const page = await log.read(sessionId(session), { from });
      if (page.records.length === 0) break;
      records.push(...page.records);
      from = page.through;
    }
  }
  await log.close();
  return all;
}

async function incarnations(path: string, sessions: readonly string[]) {
  const log = sqliteLog({ path });
  const found = new Map<string, string>();
  for (const session of sessions) {
    const info = await log.info(sessionId(session));
    if (info !== undefined && info.through > 0) found.set(session, info.incarnation);
  }
  await log.close();
  return found;
}

const isSame = (one: LogRecord, other: LogRecord | undefined): boolean =>
  other !== undefined && encodeRecord(one) === encodeRecord(other);

const codeOf = (error: unknown): string => (isMillraceError(error) ? error.code : String(error));
