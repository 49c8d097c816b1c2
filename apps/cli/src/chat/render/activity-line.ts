import { cellWidth } from '../../text/cells/cell-width.ts';
import type { ChatState, NextRetry } from '../contract/chat-state.ts';
import type { Moment } from './call-lines.ts';
import { formatDuration } from './format-amounts.ts';
import { clipText, type Look, withTone } from './look.ts';

interface ActivityOptions {
  readonly moment: Moment;
  /** The name of the model. */
  readonly label: string;
  /** True if a dialog replaces the prompt. */
  readonly isDialogOpen: boolean;
}

/** Describes the current activity in one line. Returns undefined while idle. */
export function activityLine(
  look: Look,
  state: ChatState,
  { moment: { now, frame }, label, isDialogOpen }: ActivityOptions,
): string | undefined {
  const waiting: Activity = isDialogOpen ? { type: 'approval' } : currentActivity(state);
  const words = activityText(waiting, now, label);
  if (words === undefined) return undefined;
  const started = state.run?.startedAt;
  const time = started === undefined ? '' : ` · ${formatDuration(now - started)}`;
  // Usually the hint below the prompt mentions Esc. A dialog hides that hint, so this line mentions
  // Esc.
  const hint = isDialogOpen ? ' · Esc stops' : '';
  const isRoomy = cellWidth(words + time + hint) <= look.width - 2;
  const elapsed = isRoomy ? time + hint : time;
  const room = look.width - 2 - cellWidth(elapsed);
  return `${withTone(look, 'mark', frame)} ${withTone(look, 'dim', clipText(words, room) + elapsed)}`;
}

/** Describes an activity in words. Returns undefined while idle. */
export function activityText(waiting: Activity, now: number, label: string): string | undefined {
  switch (waiting.type) {
    case 'idle':
      return undefined;
    case 'approval':
      return 'waiting for your answer';
    case 'stopping':
      return 'stopping';
    case 'summary':
      return 'summarising older messages';
    case 'model':
      return `waiting for ${label}`;
    case 'thinking':
      return 'thinking';
    case 'answer':
      return 'answering';
    case 'working':
      return 'working';
    case 'retry':
      return retryText(waiting, now);
    case 'tools': {
      const names = [...new Set(waiting.names)].join(', ');
      return waiting.names.length === 1
        ? `running ${names}`
        : `running ${waiting.names.length} tools: ${names}`;
    }
  }
}

function retryText({ at, problem, attempt, maxAttempts }: NextRetry, now: number): string {
  const which = attempt <= maxAttempts ? ` (${attempt} of ${maxAttempts})` : '';
  return `retrying in ${formatDuration(at - now)}${which}, Esc stops: ${problem}`;
}

const maxQueued = 3;

/** Draws the messages that wait in the queue. */
export function queuedLines(look: Look, { queued, run }: ChatState): readonly string[] {
  const shown = queued.slice(0, maxQueued).map(({ when, text }) => {
    const busy = when === 'steer' ? '↳ next step: ' : '↳ queued: ';
    const label = run === undefined ? '↳ sent with your next message: ' : busy;
    return withTone(look, 'dim', label + clipText(text, look.width - cellWidth(label)));
  });
  const more = queued.length - shown.length;
  return more === 0 ? shown : [...shown, withTone(look, 'dim', `  … and ${more} more`)];
}

/** The current activity of a session. */
export type Activity =
  | {
      readonly type: 'idle' | 'approval' | 'stopping' | 'summary' | 'model' | 'thinking' | 'answer';
    }
  | ({ readonly type: 'retry' } & NextRetry)
  | { readonly type: 'tools'; readonly names: readonly string[] }
  | { readonly type: 'working' };

export function currentActivity(state: ChatState): Activity {
  const { approvals, retry, entries, stats } = state;
  if (state.run === undefined) {
    return { type: approvals.some(({ isAnswered }) => !isAnswered) ? 'approval' : 'idle' };
  }
  if (state.isStopping) return { type: 'stopping' };
  if (approvals.some(({ isAnswered }) => !isAnswered)) return { type: 'approval' };
  if (retry !== undefined) return { type: 'retry', ...retry };
  if (state.isSummarising) return { type: 'summary' };
  const open = entries.findLast((entry) => 'end' in entry && entry.end === 'open');
  if (open?.kind === 'thought') return { type: 'thinking' };
  if (open !== undefined) return { type: 'answer' };
  const calls = entries.flatMap((entry) => (entry.kind === 'call' ? [entry.card] : []));
  if (calls.some(({ phase }) => phase === 'writing')) return { type: 'answer' };
  const names = calls.filter(({ phase }) => phase === 'running').map(({ name }) => name);
  if (names.length > 0) return { type: 'tools', names };
  return stats.last?.firstAt === undefined ? { type: 'model' } : { type: 'working' };
}
