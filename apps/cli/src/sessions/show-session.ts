import { encodeTranscript, liveTranscript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { printable } from '../print/printable.ts';
import { findSession } from '../store/find-session.ts';
import { dateTime } from './list-sessions.ts';
import type { SessionsContext } from './sessions-context.ts';
import { transcriptMarkdown } from './transcript-markdown.ts';

/** What was said, as Markdown; with `--json` as the transcript's own JSON. */
export async function showSession({ args, log, output, cwd }: SessionsContext): Promise<void> {
  const [which = 'last'] = args.operands;
  const session = await findSession(log, which, cwd);
  const items = liveTranscript(await snapshot(log, session.id));
  if (args.json) return output.write(`${encodeTranscript(items)}\n`);
  const about = [session.cwd ?? 'no folder', dateTime(session.changedAt)].join(', ');
  const text = `# Session ${session.id}\n\n${about}\n\n${transcriptMarkdown(items)}`;
  await output.write(output.stream.isTTY ? printable(text) : text);
}
