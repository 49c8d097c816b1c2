import { type DefinedTool, defineTool } from '@millrace/agent';
import { z } from 'zod';
import type { FolderEntry, FolderListing } from '../workspace/list-folder.ts';
import { displayOnOneLine } from '../workspace/resolve-path.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { byteCount } from './read-lines.ts';

/**
 * Maximum number of entries to read and sort, because a folder can have a million entries. The output shows
 * at most `maxShown` of them.
 */
const maxRead = 10_000;
const maxShown = 500;

/** The input of the tool `ls`. */
export interface LsInput {
  /** The folder. Default: the root of the workspace. */
  readonly path?: string | undefined;
}

const input = z.object({
  path: z.string().optional().describe('Relative to the workspace, or absolute. Default: its root'),
});

const description = `Lists a folder of the workspace: folders first (with a /), then files with their sizes, hidden ones too.
- Use glob to find files in subfolders.`;

/** Creates the tool `ls`, which lists a folder. */
export function lsTool(workspace: Workspace): DefinedTool<'ls', LsInput> {
  return defineTool({
    name: 'ls',
    description,
    input,
    effects: 'none',
    afterCrash: 'repeat',
    summarize: ({ path = '.' }) => `List ${path}`,
    execute: async ({ path = '.' }, { judged }) => {
      const bound = workspace.boundTo(judged);
      const { segments, shown } = await bound.resolve(path);
      // The folder `.git` contains thousands of files with meaningless names. Git commands show its content
      // better.
      if (segments.includes('.git'))
        return `${shown} belongs to git and is not listed. Use git commands instead`;
      return asText(await bound.list(path, maxRead));
    },
  });
}

function asText({ place, entries, isCut }: FolderListing): string {
  if (entries.length === 0) return `${place.shown} is empty`;
  const sorted = entries.toSorted(byKindAndName);
  const lines = sorted.slice(0, maxShown).map(asLine);
  const rest = entries.length - lines.length;
  if (rest > 0)
    lines.push(`(${isCut ? 'At least ' : ''}${rest} more. Use glob to find some of them)`);
  return lines.join('\n');
}

function byKindAndName(a: FolderEntry, b: FolderEntry): number {
  const folders = Number(b.kind === 'folder') - Number(a.kind === 'folder');
  return folders !== 0 ? folders : a.name < b.name ? -1 : 1;
}

function asLine({ name, kind, size, target = '' }: FolderEntry): string {
  const shown = displayOnOneLine(name);
  switch (kind) {
    case 'folder':
      return `${shown}/`;
    case 'link':
      return `${shown} -> ${displayOnOneLine(target)}`;
    case 'file':
      return `${shown}  ${byteCount(size)}`;
    case 'other':
      return `${shown}  (not a regular file)`;
  }
}
