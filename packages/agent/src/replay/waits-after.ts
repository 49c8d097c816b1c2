import type { LogRecord } from '@millrace/core';

/** Whether a driver that wrote this record last waits for others, and so has time to hear a command. */
export function waitsAfter(records: readonly LogRecord[], at: number): boolean {
  const { delta, fact } = records[at] ?? {};
  if (fact?.type === 'response_finished')
    return areAllStarted(records, at) && !areDiscarded(records, at);
  return delta !== undefined || waits.has(fact?.type ?? '');
}

const waits: ReadonlySet<string> = new Set([
  'response_started',
  'tool_execution_started',
  'approval_asked',
  'retry_scheduled',
]);

/** What ran was thrown away: the command came before it could count. */
function areDiscarded(records: readonly LogRecord[], end: number): boolean {
  const { turn, attempt } = records[end] ?? {};
  for (let at = end + 1; records[at]?.fact?.type !== 'turn_finished'; at++) {
    const record = records[at];
    if (record === undefined) return false;
    const { fact } = record;
    if (record.turn !== turn || record.attempt !== attempt) continue;
    if (fact?.type === 'tool_execution_finished' && fact.outcome === 'discarded') return true;
  }
  return false;
}

/** All calls of a response were begun while the model spoke: there is nothing to do but wait for them. */
function areAllStarted(records: readonly LogRecord[], end: number): boolean {
  const { turn, attempt } = records[end] ?? {};
  const [called, started] = [new Set<string>(), new Set<string>()];
  for (let at = end - 1; at >= 0 && records[at]?.fact?.type !== 'response_started'; at--) {
    const record = records[at];
    if (record === undefined || record.turn !== turn || record.attempt !== attempt) continue;
    const { delta, fact } = record;
    if (delta?.type === 'begin_part' && delta.kind === 'tool_call') called.add(delta.toolCallId);
    if (fact?.type === 'tool_execution_started') started.add(fact.toolCallId);
  }
  return called.size > 0 && [...called].every((id) => started.has(id));
}
