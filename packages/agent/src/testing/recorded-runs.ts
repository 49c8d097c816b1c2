import { type Item, type LogRecord, type SessionId, sessionId, transcript } from '@millrace/core';
import { spansOf } from '@millrace/core/spans';
import type { Log } from '@millrace/log';
import { findLogProblems } from './check-log.ts';
import { foldRecords } from './read-log.ts';

/** Returns a session that was made of the spans of another program, in forms that tests compare. */
export async function readRecordedRun(log: Log, session: string) {
  const id = sessionId(session);
  const { records } = await log.read(id, { maxBytes: Number.POSITIVE_INFINITY });
  const state = foldRecords(id, records);
  return {
    records,
    problems: findLogProblems(id, records),
    lines: transcript(state).flatMap(linesOf),
    spans: spansOf(records),
    stop: stopOf(records),
  };
}

/** Returns the ids of all sessions, in the order of their creation. */
export async function sessionsIn(log: Log): Promise<readonly SessionId[]> {
  const infos = [...(await log.list())].sort((a, b) => a.createdAt - b.createdAt);
  return infos.map(({ session }) => session);
}

function stopOf(records: readonly LogRecord[]) {
  const last = records.at(-1)?.fact;
  return last?.type === 'run_finished' ? last.stop : undefined;
}

function linesOf({ kind, parts }: Item): readonly string[] {
  return parts.map((part) => {
    switch (part.kind) {
      case 'text':
        return `${kind}: ${part.text}`;
      case 'reasoning':
        return `thought: ${part.text}`;
      case 'tool_call':
        return `${part.toolCallId}: ${part.name}(${part.arguments})`;
      case 'tool_result':
        return `${part.toolCallId}: ${part.name} ${part.isError ? 'failed' : '='} ${part.text}`;
      default:
        return `${kind}: ${part.kind}`;
    }
  });
}
