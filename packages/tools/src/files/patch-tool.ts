import { type DefinedTool, defineTool, type ToolOutput } from '@millrace/agent';
import type { PatchInput } from '@millrace/providers';
import { z } from 'zod';
import type { FileBefore, FileChange, Workspace } from '../workspace/workspace.ts';
import { applyPatch, createdText } from './apply-patch.ts';
import { changeOutput, maxEditedBytes, wellFormedText } from './edit-tool.ts';
import { decodeText, encodeText } from './text-file.ts';

const path = z.string().describe('The file: relative to the workspace, or absolute inside it');
const diff = wellFormedText('diff').describe(
  'Sections that start with @@ and optionally a line above them, then lines that start with a space (same), - (removed) or + (added). In a new file all lines start with +',
);

const input = z.discriminatedUnion('type', [
  z.object({ type: z.literal('create_file'), path, diff }),
  z.object({ type: z.literal('update_file'), path, diff }),
  z.object({ type: z.literal('delete_file'), path }),
]);

/**
 * The JSON Schema of the input. It is written by hand, because some providers require an object at the top
 * level, and the type is a union.
 */
const inputSchema = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
    path: { type: 'string', description: path.description ?? '' },
    diff: { type: 'string', description: `${diff.description ?? ''}. Not for delete_file` },
  },
  required: ['type', 'path'],
} as const;

const description = `Creates, changes or deletes one text file of the workspace by a patch without line numbers.
If a section of the patch does not fit the file, nothing is changed.`;

/**
 * Creates the tool `apply_patch`. It implements OpenAI's built-in tool of the same name. All other providers
 * receive it as a function.
 *
 * @example const tools = [readTool(workspace), applyPatchTool(workspace)];
 */
export function applyPatchTool(workspace: Workspace): DefinedTool<'apply_patch', PatchInput> {
  return defineTool({
    name: 'apply_patch',
    description,
    input,
    inputSchema,
    answers: 'openai.apply_patch',
    summarize: ({ type, path: file }) => `${verbs[type]} ${file}`,
    execute: (operation, context) => {
      const bound = workspace.boundTo(context.judged, context.basis).recordedBy(context);
      return execute(bound, operation, context.signal);
    },
  });
}

const verbs: Readonly<Record<PatchInput['type'], string>> = {
  create_file: 'Create',
  update_file: 'Patch',
  delete_file: 'Delete',
};

async function execute(
  workspace: Workspace,
  operation: PatchInput,
  signal: AbortSignal,
): Promise<ToolOutput> {
  switch (operation.type) {
    case 'create_file':
      return createFile(workspace, operation, signal);
    case 'update_file':
      return workspace.change(operation.path, (before) => patchFile(before, operation.diff), {
        maxBytes: maxEditedBytes,
        signal,
      });
    case 'delete_file': {
      const { shown } = await workspace.remove(operation.path, { signal });
      return { output: { text: `Deleted ${shown}`, value: { path: shown } } };
    }
  }
}

async function createFile(
  workspace: Workspace,
  operation: PatchInput & { readonly type: 'create_file' },
  signal: AbortSignal,
): Promise<ToolOutput> {
  const text = createdText(operation.diff);
  if (text === undefined)
    return failed(operation.path, 'Each line of the diff of a new file must start with +');
  const bytes = new TextEncoder().encode(text);
  const { place } = await workspace.write(operation.path, bytes, { signal, isNew: true });
  const added = text.split('\n').length - 1;
  const value = { path: place.shown, added, removed: 0 };
  return { output: { text: `Created ${place.shown}: ${added} lines`, value } };
}

function patchFile({ place, bytes }: FileBefore, patch: string): FileChange<ToolOutput> {
  const file = decodeText(bytes);
  if (file === undefined)
    return {
      result: failed(place.shown, 'It is not UTF-8 text, and a patch would damage it'),
    };
  const applied = applyPatch(file, patch);
  if (!applied.ok) return { result: failed(place.shown, applied.problem) };
  const output = changeOutput('Patched', place.shown, file.text, applied.file.text);
  if (output === undefined) return { result: failed(place.shown, 'The patch changes nothing') };
  return { bytes: encodeText(applied.file), result: output };
}

function failed(file: string, problem: string): ToolOutput {
  const text = `Cannot patch ${file}, and nothing was changed. ${problem}`;
  return { output: { text, isError: true } };
}
