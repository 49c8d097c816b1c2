import { type FoldState, type Part, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

/** The media type of a blob that the task's transcript names; undefined where it names none such. */
export async function blobTypeOf(
  log: Log,
  taskId: string,
  hash: string,
): Promise<string | undefined> {
  const session = sessionId(taskId);
  if ((await log.info(session)) === undefined) return undefined;
  return typeIn(await snapshot(log, session), hash);
}

function typeIn(state: FoldState, hash: string): string | undefined {
  for (const { parts } of transcript(state)) {
    for (const part of parts) {
      const found = mediaOf(part).find(
        ({ source }) => source.type === 'blob' && source.hash === hash,
      );
      if (found !== undefined) return found.mimeType;
    }
  }
  return undefined;
}

function mediaOf(part: Part) {
  if (part.kind === 'media' || part.kind === 'file') return [part];
  return part.kind === 'tool_result' ? (part.attachments ?? []) : [];
}
