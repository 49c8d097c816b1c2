import type { AgentEvent, ItemId, Stop } from '@millrace/core';

/** A message to the user that the page shows between two items. */
export interface Notice {
  /** The offset of the record. */
  readonly id: number;
  /** The item before the notice. Undefined if the notice is at the start. */
  readonly after: ItemId | undefined;
  readonly time: number;
  readonly look: 'plain' | 'warn' | 'bad';
  readonly text: string;
  /** Details that the user can unfold. */
  readonly detail?: string | undefined;
}

type NoticeText = Pick<Notice, 'look' | 'text' | 'detail'>;

/** Returns the notice for an event. Returns undefined if the event needs none. */
export function noticeOf(event: AgentEvent): NoticeText | undefined {
  switch (event.type) {
    case 'error_reported':
      return { look: 'bad', text: event.error.message, detail: event.error.code };
    case 'retry_scheduled': {
      const seconds = Math.max(1, Math.round(event.delayMs / 1000));
      return {
        look: 'warn',
        text: `${sentence(event.error.message)} Retrying in ${seconds} s.`,
      };
    }
    case 'attempt_superseded':
      return {
        look: 'warn',
        text: `Attempt ${event.attempt} was replaced. Its output was removed.`,
        detail: event.reason,
      };
    case 'aborted':
      return { look: 'plain', text: 'Stopped. The output so far is kept.' };
    case 'compacted':
      return {
        look: 'plain',
        text:
          event.itemIds.length === 0
            ? 'Long messages are sent to the model in a shortened form from here on.'
            : `${event.itemIds.length} earlier items are sent to the model as a summary from here on.`,
        detail: event.summary,
      };
    case 'handed_off':
      return { look: 'plain', text: `Handed over to ${event.to}.`, detail: event.reason };
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
        text: 'The answer was cut off because it reached the maximum length.',
      };
    case 'content_filter':
      return { look: 'warn', text: 'The provider’s content filter ended the answer.' };
    case 'refusal':
      return { look: 'warn', text: 'The model refused to answer.' };
    case 'blocked':
      return { look: 'warn', text: `A guardrail stopped the agent: ${cause ?? 'unknown'}.` };
    case 'limit':
      return { look: 'warn', text: `The agent reached a limit: ${cause ?? 'unknown'}.` };
    case 'unknown':
      return { look: 'warn', text: 'The answer ended for an unknown reason.' };
    case 'aborted':
      return cause === 'interrupted'
        ? { look: 'warn', text: 'Interrupted: the process ended. The output so far is kept.' }
        : undefined;
    default:
      return undefined;
  }
}
