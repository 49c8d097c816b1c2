import type { AgentEvent, ItemId, Stop } from '@millrace/core';
import type { Labels } from '../../labels/labels.ts';

/** A message to the user that the page shows between two items. */
export interface Notice {
  /** The offset of the record. */
  readonly id: number;
  /** The item before the notice. Undefined if the notice is at the start. */
  readonly after: ItemId | undefined;
  readonly time: number;
  readonly look: 'plain' | 'warn' | 'bad';
  /** Returns the text in the language of the labels. */
  readonly text: (labels: Labels) => string;
  /** Details that the user can unfold. */
  readonly detail?: string | undefined;
}

type NoticeText = Pick<Notice, 'look' | 'text' | 'detail'>;

/** Returns the notice for an event. Returns undefined if the event needs none. */
export function noticeOf(event: AgentEvent): NoticeText | undefined {
  switch (event.type) {
    case 'error_reported':
      return { look: 'bad', text: () => event.error.message, detail: event.error.code };
    case 'retry_scheduled': {
      const seconds = Math.max(1, Math.round(event.delayMs / 1000));
      return {
        look: 'warn',
        text: (t) => `${sentence(event.error.message)} ${t.retryingIn(seconds)}`,
      };
    }
    case 'attempt_superseded':
      return {
        look: 'warn',
        text: (t) => t.attemptReplaced(event.attempt),
        detail: event.reason,
      };
    case 'aborted':
      return { look: 'plain', text: (t) => t.stoppedNotice };
    case 'compacted':
      return {
        look: 'plain',
        text: (t) =>
          event.itemIds.length === 0
            ? t.longMessagesShortened
            : t.itemsSummarized(event.itemIds.length),
        detail: event.summary,
      };
    case 'handed_off':
      return { look: 'plain', text: (t) => `${t.handedOverTo(event.to)}.`, detail: event.reason };
    case 'run_finished':
      return runEndNotice(event.stop);
    default:
      return undefined;
  }
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/**
 * Returns a notice for a run that ended abnormally. Returns undefined for a normal end, or if an
 * earlier notice already gave the reason.
 */
function runEndNotice({ reason, cause }: Stop): NoticeText | undefined {
  switch (reason) {
    case 'length':
      return {
        look: 'warn',
        text: (t) => t.answerCutOff,
      };
    case 'content_filter':
      return { look: 'warn', text: (t) => t.contentFiltered };
    case 'refusal':
      return { look: 'warn', text: (t) => t.modelRefused };
    case 'blocked':
      return { look: 'warn', text: (t) => t.guardrailStopped(cause ?? t.unknown) };
    case 'limit':
      return { look: 'warn', text: (t) => t.limitReached(cause ?? t.unknown) };
    case 'unknown':
      return { look: 'warn', text: (t) => t.endedUnknown };
    case 'aborted':
      return cause === 'interrupted' ? { look: 'warn', text: (t) => t.interrupted } : undefined;
    default:
      return undefined;
  }
}
