import { executionId, runId, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createWorkspace, globTool } from '@millrace/tools';
import type { ListOptions } from './git-files.ts';

/** Enough for the longest list of paths. */
const maxOutputLength = 2 ** 25;

/** The files below a folder that .gitignore does not name, found as an agent's glob finds them; in a thread of its own. */
export async function walkedFiles({
  cwd,
  maxPaths,
  signal,
}: Pick<ListOptions, 'cwd' | 'maxPaths' | 'signal'>): Promise<readonly string[]> {
  const glob = globTool({ workspace: createWorkspace({ root: cwd }), maxOutputLength });
  const input = { pattern: '**', path: '.', order: 'name', limit: maxPaths };
  const result = await glob.execute(input, {
    signal,
    session: sessionId('files'),
    runId: runId('files'),
    turn: 1,
    toolCallId: toolCallId('files'),
    executionId: executionId('files'),
    child: undefined,
    blobs: memoryLog().blobs,
    update: () => {},
  });
  return pathsIn(result);
}

/** What is said about them follows behind an empty line. Names with control characters in them come as JSON, and are left out. */
function pathsIn(result: unknown): readonly string[] {
  const { text, value } = (result as { output: { text: string; value: { files: number } } }).output;
  if (value.files === 0) return [];
  const [paths = ''] = text.split('\n\n', 1);
  return paths.split('\n').filter((path) => !/^".*\\.*"$/.test(path));
}
