import { type DefinedTool, defineTool, type ToolContext } from '@millrace/agent';
import { z } from 'zod';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { versionOf } from '../workspace/open-file.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { WriteResult } from '../workspace/write-file.ts';
import { wellFormedText } from './edit-tool.ts';
import { noteVersion, seenVersion } from './seen-files.ts';

/** The input of the tool `write`. */
export interface WriteInput {
  readonly path: string;
  readonly content: string;
}

const input = z.object({
  path: z.string(),
  content: wellFormedText('content'),
});

const description = `Writes a whole file of the workspace. It creates the file and missing folders, or replaces the content.
- To change a part of a file, use edit.
- If the file changed since you read it, nothing is written. Read it again first.`;

/** Creates the tool `write`, which creates or replaces a file. */
export function writeTool(workspace: Workspace): DefinedTool<'write', WriteInput> {
  return defineTool({
    name: 'write',
    description,
    input,
    summarize: ({ path, content }) => `Write ${path} (${lineCount(content)})`,
    execute: async ({ path, content }, context) => {
      const bytes = new TextEncoder().encode(content);
      const bound = workspace.boundTo(context.judged, context.basis).recordedBy(context);
      const { place, isNew } = await writeSeen(bound, path, bytes, context);
      noteVersion(context, place.real, versionOf(bytes));
      return `${isNew ? 'Created' : 'Replaced'} ${place.shown}: ${lineCount(content)}`;
    },
  });
}

/** Writes the file, unless it has changed since the session read it. A deleted file is created again. */
async function writeSeen(
  workspace: Workspace,
  path: string,
  bytes: Uint8Array,
  context: ToolContext,
): Promise<WriteResult> {
  const { signal } = context;
  const expected = seenVersion(context, (await workspace.resolve(path)).real);
  try {
    return await workspace.write(path, bytes, { signal, expected });
  } catch (error) {
    const isDeleted = error instanceof WorkspaceError && error.code === 'vanished';
    if (expected === undefined || !isDeleted) throw error;
    return workspace.write(path, bytes, { signal });
  }
}

function lineCount(text: string): string {
  const ended = text.split('\n').length - 1;
  const lines = text === '' || text.endsWith('\n') ? ended : ended + 1;
  return lines === 1 ? '1 line' : `${lines} lines`;
}
