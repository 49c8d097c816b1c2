import type { Stop } from '@millrace/core';
import { type NoteBlock, note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { Entry } from '../contract/entry.ts';

/** Maximum length of an error message that is shown. */
const maxErrorLength = 600;

/**
 * Maximum length of an error message in which tags are searched. The search takes quadratic time.
 */
const maxSearchedLength = 4096;

/**
 * Formats an error message. If it is an HTML page, the result is only the text of the page, in one
 * line.
 */
export function errorText(given: string): string {
  const message = given.slice(0, maxSearchedLength);
  const isPage = /<(?:!doctype|html|head|body|title|h1|p|div)\b[^>]*>/i.test(message);
  const words = isPage
    ? message
        .replaceAll(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/gi, ' ')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim()
    : message;
  return words.length > maxErrorLength ? `${words.slice(0, maxErrorLength)}…` : words;
}

/**
 * Returns a note if the answer or the summary of a turn is empty. The note shows the user that nothing follows.
 */
export function emptyAnswerNote(
  { printed, entries, items, hasSummary }: ChatState,
  { turn, stop }: EventOf<'turn_finished'>,
): NoteBlock | undefined {
  if (stop.reason !== 'stop') return undefined;
  if ([...items.values()].includes('context'))
    return hasSummary ? undefined : note('dim', '(the model returned no summary)');
  const isSomething = (entry: Entry) =>
    entry.at.turn === turn && !('text' in entry && entry.text.trim() === '');
  const isEmpty = printed.size === 0 && !entries.some(isSomething);
  return isEmpty ? note('dim', '(the model returned no answer)') : undefined;
}

/** Returns a note if the user wanted a summary, and the agent found nothing to summarise. */
export function noSummaryNote({ awaitsSummary }: ChatState): NoteBlock | undefined {
  const text = 'The conversation is too short for a summary. Nothing was summarised.';
  return awaitsSummary ? note('dim', text) : undefined;
}

/** Describes an unusual end of a turn or run. Returns undefined for a normal end. */
export function stopNote({ reason, cause }: Stop): NoteBlock | undefined {
  switch (reason) {
    case 'stop':
    case 'tool_use':
    case 'pause':
      return undefined;
    case 'aborted':
      return cause === 'interrupted'
        ? note('mark', '■ interrupted: the process that ran this ended')
        : note('mark', '■ stopped');
    case 'length':
      return note('mark', '■ cut off: the answer reached the length limit');
    case 'content_filter':
      return note('mark', '■ cut off by the provider’s content filter');
    case 'refusal':
      return note('mark', '■ the model refused');
    case 'blocked':
      return note('mark', `■ stopped by a guardrail${reasonSuffix(cause)}`);
    case 'limit':
      return note('mark', `■ stopped at a limit${reasonSuffix(cause)}`);
    case 'parked':
      return note('mark', `■ waiting${reasonSuffix(cause)}`);
    case 'error':
      return note('bad', `✗ failed${reasonSuffix(cause)}`);
    case 'unknown':
      return note('mark', `■ ended${reasonSuffix(cause)}`);
  }
}

export function reasonSuffix(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

/** Descriptions of request errors for users, by error code. */
const problemTexts: ReadonlyMap<string, string> = new Map([
  ['network', 'the connection to the provider failed'],
  ['overloaded', 'the provider is overloaded'],
  ['rate_limit', 'the provider limits the request rate'],
  ['server', 'the provider had an error'],
  ['timeout', 'the provider took too long'],
  ['truncated_stream', 'the answer was cut off'],
  ['protocol_error', 'the answer could not be read'],
  ['history_rejected', 'the provider rejected the earlier reasoning'],
  ['interrupted', 'interrupted: the answer starts again'],
]);

/** Describes a request error. `hasContent` is true if a part of the answer had arrived. */
export function problemText(code: string, hasContent: boolean): string {
  if (code === 'network' && hasContent) return 'the answer broke off: the connection was lost';
  return problemTexts.get(code) ?? code;
}
