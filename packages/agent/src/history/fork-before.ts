import type { DraftRecord, ItemId, LogRecord, SessionId } from '@millrace/core';
import {
  type ForkOptions as CopyOptions,
  type Log,
  readBackward,
  type SessionInfo,
} from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';
import type { LabelCommand } from '../contract/command.ts';
import { decodeLabel, queuedAndConsumed } from '../input/label-command.ts';
import { nextRound } from '../replay/playback.ts';
import { decodeCommand } from '../state/commands.ts';

interface ForkOptions {
  readonly into: SessionId;
  /** The fork ends before this item. Default: the first answer to the last user input. */
  readonly item?: ItemId | undefined;
  readonly onCopy?: CopyOptions['onCopy'];
}

/**
 * Forks a session before an item, or before the turn that contains the item. It reads the records backwards,
 * from the end of the session to the item. Earlier records are copied by the store, and are not read here.
 */
export async function forkBefore(
  log: Log,
  session: SessionId,
  { into, item, onCopy }: ForkOptions,
): Promise<SessionInfo> {
  const start =
    item === undefined
      ? await findLastAnswer(log, session)
      : await findItemStart(log, session, item);
  if (start === undefined) throw noSuchItem(session, item);
  const through = await cutBefore(log, session, start);
  return forkSession(log, session, { into, through, onCopy });
}

/**
 * Forks a session, like `log.fork`. If the session revoked a standing approval after the copied records, the
 * fork revokes it too. The fork therefore does not bring a revoked approval back. The copied items keep the
 * labels that they got after the copied records. An answer at their end that output guardrails did not pass, or
 * have not passed yet, is retracted. Throws `bad_option` if the copied records end with an answer about
 * which a guardrail asks. In the fork, a different decision about this answer would be possible.
 *
 * @example
 * await forkSession(log, session, { into, through: 41 });
 */
export async function forkSession(
  log: Log,
  session: SessionId,
  { append = [], ...options }: CopyOptions,
): Promise<SessionInfo> {
  // The code loads on demand, because few programs fork sessions.
  const { retractedAnswer } = await import('./open-answer.ts');
  const retracted = await retractedAnswer(log, session, options.through, append);
  const later = await laterCommands(log, session, options);
  return log.fork(session, { ...options, append: [...append, ...retracted, ...later] });
}

/** Returns the records that repeat the revocations and labels after an offset in a fork. */
async function laterCommands(
  log: Log,
  session: SessionId,
  { into, through }: Pick<CopyOptions, 'into' | 'through'>,
): Promise<readonly DraftRecord[]> {
  const rules = new Set<string>();
  const labels = new Map<ItemId, LabelCommand>();
  const laterItems = new Set<ItemId>();
  for (let from = through; ; ) {
    const page = await log.read(session, { from });
    for (const { fact } of page.records) {
      if (fact?.type === 'item_started') laterItems.add(fact.itemId);
      if (fact?.type !== 'command_queued') continue;
      const command = decodeCommand(fact.command);
      if (command.type === 'revoke') rules.add(command.rule);
      const label = decodeLabel(fact.command);
      if (label !== undefined) labels.set(label.itemId, label);
    }
    if (page.through <= from) break;
    from = page.through;
    await nextRound();
  }
  const revocations = [...rules].map((rule) => ({ type: 'revoke', rule }) as const);
  const kept = [...labels.values()].filter(({ itemId }) => !laterItems.has(itemId));
  return [...revocations, ...kept].flatMap((command, at) =>
    queuedAndConsumed(`${command.type} ${at} ${into}`, command),
  );
}

/** Returns the record that started an item. */
async function findItemStart(
  log: Log,
  session: SessionId,
  item: ItemId,
): Promise<LogRecord | undefined> {
  for await (const record of recordsBackward(log, session))
    if (record.fact?.type === 'item_started' && record.fact.itemId === item) return record;
  return undefined;
}

/** Returns the record that started the first answer after the last user input. */
async function findLastAnswer(log: Log, session: SessionId): Promise<LogRecord | undefined> {
  let answer: LogRecord | undefined;
  for await (const record of recordsBackward(log, session)) {
    if (record.fact?.type !== 'item_started') continue;
    if (record.fact.kind === 'user') return answer;
    if (record.fact.kind === 'assistant') answer = record;
  }
  return answer;
}

/**
 * Returns the offset of the last record before an item, or before the turn that contains the item. `start` is
 * the record that started the item. Returns 0 if there is no earlier record.
 */
export async function cutBefore(log: Log, session: SessionId, start: LogRecord): Promise<number> {
  const { turn, offset } = start;
  // If the item has no turn, the fork also omits the records that introduced the item, which are the queued
  // and consumed command and the start of its run. The command contains the text that the fork replaces.
  let isOmitted = (record: LogRecord) => record.offset === offset || isOpening(record);
  if (turn > 0)
    isOmitted = (record) => {
      if (record.turn === turn && record.fact?.type === 'turn_started') isOmitted = () => false;
      return true;
    };
  for await (const record of recordsBackward(log, session, offset))
    if (!isOmitted(record)) return record.offset;
  return 0;
}

const openingFacts: ReadonlySet<string | undefined> = new Set([
  ...['command_queued', 'command_consumed', 'run_started'],
]);

function isOpening({ fact }: LogRecord): boolean {
  return openingFacts.has(fact?.type);
}

function noSuchItem(session: SessionId, item: ItemId | undefined): AgentError {
  const what = item === undefined ? 'an answer' : `item ${item}`;
  const message = `Cannot fork session ${session} before ${what}: there is no such item`;
  return new AgentError('no_such_item', message, { session, item });
}

/** Yields the records of a session, the newest record first. */
async function* recordsBackward(
  log: Log,
  session: SessionId,
  through?: number,
): AsyncGenerator<LogRecord> {
  for await (const records of readBackward(log, session, { through })) yield* records.toReversed();
}

/** Reads all records of a session, in order. */
export async function readRecords(log: Log, session: SessionId): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for (let from = 0; ; ) {
    const batch = await log.read(session, { from });
    for (const record of batch.records) records.push(record);
    if (batch.through <= from) return records;
    from = batch.through;
  }
}
