import { type DefinedTool, defineTool } from '@millrace/agent';
import { z } from 'zod';
import type { Workspace } from '../workspace/workspace.ts';
import { wellFormedText } from './edit-tool.ts';

/** The input of the tool `write`. */
export interface WriteInput {
  readonly path: string;
  readonly content: string;
}

const input = z.object({
  path: z.string().describe('The file: relative to the workspace, or absolute inside it'),
  content: wellFormedText('content').describe('The whole new content of the file'),
});

const description = `Writes a whole file of the workspace. It creates the file and missing folders, or replaces the content.
- To change a part of a file, use edit.
- The content is written exactly as given, completely or not at all. A replaced file keeps its permissions.`;

/** Creates the tool `write`, which creates or replaces a file. */
export function writeTool(workspace: Workspace): DefinedTool<'write', WriteInput> {
  return defineTool({
    name: 'write',
    description,
    input,
    summarize: ({ path, content }) => `Write ${path} (${lineCount(content)})`,
    execute: async ({ path, content }, context) => {
      const bytes = new TextEncoder().encode(content);
      const bound = workspace.boundTo(context.judged).recordedBy(context);
      const { place, isNew } = await bound.write(path, bytes, { signal: context.signal });
      return `${isNew ? 'Created' : 'Replaced'} ${place.shown}: ${lineCount(content)}`;
    },
  });
}

function lineCount(text: string): string {
  const ended = text.split('\n').length - 1;
  const lines = text === '' || text.endsWith('\n') ? ended : ended + 1;
  return lines === 1 ? '1 line' : `${lines} lines`;
}
