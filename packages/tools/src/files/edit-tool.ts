import { type DefinedTool, defineTool, type ToolContext, type ToolOutput } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import { z } from 'zod';
import { isSameVersion, versionOf } from '../workspace/open-file.ts';
import type { FileBefore, FileChange, Workspace } from '../workspace/workspace.ts';
import { applyEdits, type Edit } from './apply-edits.ts';
import { noteVersion, seenVersion } from './seen-files.ts';
import { decodeText, encodeText } from './text-file.ts';
import { unifiedDiff } from './unified-diff.ts';

const maxLength = 10_000_000;

/** Returns a schema for text that a file can store as UTF-8. It refuses lone surrogates. */
export function wellFormedText(name: string): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .refine((text) => text.isWellFormed(), {
      error: `${name} contains half of a character (a lone surrogate). Write the whole character`,
    });
}

/** Maximum size of an edited file, in bytes. Larger files would block the event loop too long. */
export const maxEditedBytes = 4_000_000;
const maxDiffLines = 200;
const maxDiffLength = 20_000;

/** The input of the tool `edit`. */
export interface EditInput {
  readonly path: string;
  readonly edits: readonly Edit[];
}

const edit = z.object({
  old_text: wellFormedText('old_text')
    .min(1)
    .describe('The text to replace, exactly as in the file, with indentation'),
  new_text: wellFormedText('new_text'),
  replace_all: z.boolean().optional(),
});

const input = z.object({
  path: z.string(),
  edits: z.array(edit).min(1).max(100).describe('Applied in order'),
});

const description = `Changes parts of a text file of the workspace by replacing exact texts, and shows the change as a diff.
- old_text must occur exactly once in the file: include enough surrounding lines, or set replace_all.
- Leave out the line numbers that read shows.
- Several changes of one file go into one call. If one of them fails, none is made.
- Write line breaks as \\n: the file keeps the line endings it has.`;

/** Creates the tool `edit`, which replaces exact texts in a file. */
export function editTool(workspace: Workspace): DefinedTool<'edit', EditInput> {
  return defineTool({
    name: 'edit',
    description,
    input,
    summarize: ({ path, edits }) =>
      `Edit ${path} (${edits.length === 1 ? '1 change' : `${edits.length} changes`})`,
    execute: async ({ path, edits }, context) => {
      const { signal, judged, basis } = context;
      let noteChange = () => {};
      const change = (before: FileBefore) => {
        const after = applyToFile(before, edits);
        noteChange = () => noteEdit(context, before, after);
        return after;
      };
      const options = { maxBytes: maxEditedBytes, signal };
      const bound = workspace.boundTo(judged, basis).recordedBy(context);
      const output = await bound.change(path, change, options);
      noteChange();
      return output;
    },
  });
}

/** Records that the model knows the new content, if the model had seen the content before the edit. */
function noteEdit(
  context: ToolContext,
  { place, bytes: before }: FileBefore,
  { bytes: after }: FileChange<ToolOutput>,
): void {
  const seen = seenVersion(context, place.real);
  if (seen === undefined || after === undefined) return;
  if (isSameVersion(seen, versionOf(before))) noteVersion(context, place.real, versionOf(after));
}

function applyToFile({ place, bytes }: FileBefore, edits: readonly Edit[]): FileChange<ToolOutput> {
  const failed = (problem: string) => {
    const text = `Cannot edit ${place.shown}, and nothing was changed. ${problem}`;
    return { result: { output: { text, isError: true } } };
  };
  const file = decodeText(bytes);
  if (file === undefined) return failed('It is not UTF-8 text, and editing would damage it');
  const applied = applyEdits(file, edits);
  if (!applied.ok) return failed(applied.problem);
  const { replacements } = applied;
  const result = changeOutput('Edited', place.shown, file.text, applied.file.text, {
    replacements,
  });
  if (result === undefined) return failed('Together, the edits change nothing');
  return { bytes: encodeText(applied.file), result };
}

/** Returns an output that describes a change as a diff. Returns undefined if nothing changes. */
export function changeOutput(
  verb: string,
  path: string,
  before: string,
  after: string,
  facts: JsonObject = {},
): ToolOutput | undefined {
  const { text: diff, added, removed } = unifiedDiff(before, after, maxDiffLines);
  if (diff === '') return undefined;
  const head = `${verb} ${path}: ${lineCount(added)} added, ${lineCount(removed)} removed`;
  return {
    output: { text: `${head}\n${clip(diff)}`, value: { path, ...facts, added, removed } },
  };
}

function lineCount(count: number): string {
  return count === 1 ? '1 line' : `${count} lines`;
}

/** Shortens a diff to its maximum length, because a single line can be as long as the file. */
function clip(diff: string): string {
  return diff.length > maxDiffLength ? `${diff.slice(0, maxDiffLength)}…` : diff;
}
