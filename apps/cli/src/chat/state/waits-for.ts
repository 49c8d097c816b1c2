import type { ChatState, NextTry } from './chat-state.ts';

/** What a session waits for, or does. */
export type Waiting =
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
