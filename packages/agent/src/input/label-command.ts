import { type DraftRecord, type ItemId, isId, type JsonObject } from '@millrace/core';
import type { Command, LabelCommand } from '../contract/command.ts';
import { encodeCommand } from '../state/commands.ts';
import { commandConsumed } from '../state/drafts.ts';

/** Maximum number of characters of a label. */
const maxLabelLength = 100;

/**
 * Returns a label as one line of limited length, without control characters and marks that change the direction
 * of text. Returns undefined for an empty label.
 */
export function labelText(given: string): string | undefined {
  const line = given
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/\p{Bidi_Control}/gu, '')
    .trim()
    .toWellFormed();
  return [...line].slice(0, maxLabelLength).join('') || undefined;
}

/**
 * Decodes a command that labels an item. Returns undefined for other commands, and for an invalid one. A
 * redaction of the item removes the text, and the item then has no label.
 *
 * The loop does not need the fields of this command, so this code is not a part of the loop.
 */
export function decodeLabel({ type, itemId, text = '' }: JsonObject): LabelCommand | undefined {
  if (type !== 'label' || typeof itemId !== 'string' || !isId(itemId)) return undefined;
  if (typeof text !== 'string') return undefined;
  return { type, itemId: itemId as ItemId, text: labelText(text) };
}

/** Returns the records of a command that takes effect when it is queued, and that no driver has to handle. */
export function queuedAndConsumed(key: string, command: Command): readonly DraftRecord[] {
  const fact = { type: 'command_queued', key, command: encodeCommand(command) } as const;
  return [{ turn: 0, attempt: 0, fact }, commandConsumed(key)];
}
