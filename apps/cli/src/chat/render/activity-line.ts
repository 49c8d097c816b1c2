import { cellWidth } from '../../text/cells/cell-width.ts';
import type { ChatState, NextTry } from '../contract/chat-state.ts';
import type { Moment } from './call-lines.ts';
import { duration } from './format-amounts.ts';
import { clipped, inTone, type Look } from './look.ts';

interface Activity {
  readonly moment: Moment;
  /** Of the model. */
  readonly label: string;
  /** A person is asked something, in the place of the prompt. */
  readonly isAsked: boolean;
}

/** What goes on, in one line, or nothing where nothing does. */
export function activityLine(
  look: Look,
  state: ChatState,
  { moment: { now, frame }, label, isAsked }: Activity,
): string | undefined {
  const waiting: Waiting = isAsked ? { type: 'approval' } : waitsFor(state);
  const words = wordsOf(waiting, now, label);
  if (words === undefined) return undefined;
  const started = state.run?.startedAt;
  const time = started === undefined ? '' : ` · ${duration(now - started)}`;
  // Elsewhere the prompt says so.
  const elapsed = isAsked ? `${time} · Esc stops` : time;
  const room = look.width - 2 - cellWidth(elapsed);
  return `${inTone(look, 'mark', frame)} ${inTone(look, 'dim', clipped(words, room) + elapsed)}`;
}

function wordsOf(waiting: Waiting, now: number, label: string): string | undefined {
  switch (waiting.type) {
    case 'idle':
      return undefined;
    case 'approval':
      return 'waits for your answer';
    case 'stopping':
      return 'stopping';
    case 'summary':
      return 'summarising what was said long ago';
    case 'model':
      return `waiting for ${label}`;
    case 'thinking':
      return 'thinking';
    case 'answer':
      return 'answering';
    case 'working':
      return 'working';
    case 'retry':
      return retryWords(waiting, now);
    case 'tools': {
      const names = [...new Set(waiting.names)].join(', ');
      return waiting.names.length === 1
        ? `running ${names}`
        : `running ${waiting.names.length} tools: ${names}`;
    }
  }
}

function retryWords({ at, problem, attempt, most }: NextTry, now: number): string {
  const which = attempt <= most ? ` (${attempt} of ${most})` : '';
  return `tries again in ${duration(at - now)}${which}, Esc stops: ${problem}`;
}

const maxQueued = 3;

/** What was said and is not heard yet. */
export function queuedLines(look: Look, { queued, run }: ChatState): readonly string[] {
  const shown = queued.slice(0, maxQueued).map(({ when, text }) => {
    const busy = when === 'steer' ? '↳ joins next: ' : '↳ then: ';
    const label = run === undefined ? '↳ goes with what you say next: ' : busy;
    return inTone(look, 'dim', label + clipped(text, look.width - cellWidth(label)));
  });
  const more = queued.length - shown.length;
  return more === 0 ? shown : [...shown, inTone(look, 'dim', `  … and ${more} more`)];
}

/** What a session waits for, or does. */
type Waiting =
  | {
      readonly type: 'idle' | 'approval' | 'stopping' | 'summary' | 'model' | 'thinking' | 'answer';
    }
  | ({ readonly type: 'retry' } & NextTry)
  | { readonly type: 'tools'; readonly names: readonly string[] }
  | { readonly type: 'working' };

export function waitsFor(state: ChatState): Waiting {
  const { approvals, retry, entries, numbers } = state;
  if (state.run === undefined) {
    return { type: approvals.some(({ isAnswered }) => !isAnswered) ? 'approval' : 'idle' };
  }
  if (state.isStopping) return { type: 'stopping' };
  if (approvals.some(({ isAnswered }) => !isAnswered)) return { type: 'approval' };
  if (retry !== undefined) return { type: 'retry', ...retry };
  if (state.isAside) return { type: 'summary' };
  const open = entries.findLast((entry) => 'end' in entry && entry.end === 'open');
  if (open?.kind === 'thought') return { type: 'thinking' };
  if (open !== undefined) return { type: 'answer' };
  const calls = entries.flatMap((entry) => (entry.kind === 'call' ? [entry.card] : []));
  if (calls.some(({ phase }) => phase === 'writing')) return { type: 'answer' };
  const names = calls.filter(({ phase }) => phase === 'running').map(({ name }) => name);
  if (names.length > 0) return { type: 'tools', names };
  return numbers.last?.firstAt === undefined ? { type: 'model' } : { type: 'working' };
}
