import type { ItemId, LogRecord } from '@millrace/core';
import { sessionId } from '@millrace/core';
import { type Driver, type Log, LogError } from '@millrace/log';
import { decodeLabel, queuedAndConsumed } from '../input/label-command.ts';
import { submitCommand } from '../input/submit-command.ts';

/** A label that a user gave to an item. */
export interface ItemLabel {
  readonly itemId: ItemId;
  /** One line of at most 100 characters. Undefined if the item has no label. */
  readonly text?: string | undefined;
}

/**
 * Gives an item a label, or removes the label if there is no text. Any process can do this, also while another
 * process drives the session. The label is on the log. A copy of the session keeps it, and a model never
 * receives it.
 *
 * @example
 * await labelItem(log, session, { itemId, text: 'before the refactoring' });
 */
export async function labelItem(
  log: Log,
  session: string,
  { itemId, text }: ItemLabel,
): Promise<void> {
  const id = sessionId(session);
  const info = await log.info(id);
  const driver = info?.hasWork === false ? await openIdle(log, id, info.through) : undefined;
  // A driver of the session consumes the command.
  if (driver === undefined)
    return void (await submitCommand(log, id, { type: 'label', itemId, text }));
  try {
    // Without a driver, a queued command would make the session look unfinished. So it is consumed at once.
    const command = { type: 'label', itemId, text } as const;
    await driver.append(queuedAndConsumed(`label ${crypto.randomUUID()}`, command));
  } finally {
    await driver.release();
  }
}

/** Returns the label that a record gives to an item. Later records of the session replace earlier labels. */
export function itemLabelOf({ fact }: LogRecord): ItemLabel | undefined {
  if (fact?.type !== 'command_queued') return undefined;
  const command = decodeLabel(fact.command);
  return command && { itemId: command.itemId, text: command.text };
}

/** Opens a session that no process drives. Returns undefined if another process drives it now. */
async function openIdle(log: Log, session: string, from: number): Promise<Driver | undefined> {
  try {
    return await log.open(session, { holder: 'label', from });
  } catch (error) {
    if (error instanceof LogError && error.code === 'held') return undefined;
    throw error;
  }
}
