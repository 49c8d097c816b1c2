import { type DefinedTool, defineTool, type ToolContext, type ToolOutput } from '@millrace/agent';
import { z } from 'zod';
import { fromSystemError } from '../contract/workspace-error.ts';
import { type OpenFile, readContent } from '../workspace/open-file.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { type FileKind, fileKind, sampleLength } from './file-kind.ts';
import { byteCount, readLines } from './read-lines.ts';
import { noteVersion } from './seen-files.ts';

const maxImageBytes = 5_000_000;
const maxDocumentBytes = 10_000_000;
const defaultLines = 2000;
/** Maximum size of a file whose content is compared before `write` replaces it, in bytes. */
const maxComparedBytes = 10_000_000;

/** The input of the tool `read`. */
export interface ReadInput {
  readonly path: string;
  /** The first line, counted from 1. Default: 1. */
  readonly offset?: number | undefined;
  /** Maximum number of lines. Default: 2,000. */
  readonly limit?: number | undefined;
}

const input = z.object({
  path: z.string().describe('Relative to the workspace, or absolute'),
  offset: z.int().min(1).optional().describe('The line to start at, counted from 1. Default: 1'),
  limit: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe(`How many lines to read. Default: ${defaultLines}`),
});

const description = `Reads a file of the workspace.
- Text is returned as numbered lines: the number, a tab, the line. The numbers are not part of the file.
- A long file comes in parts: continue with offset.
- Images (PNG, JPEG, GIF, WebP) and PDF are shown to you. Other binary files are refused.`;

/** Creates the tool `read`, which returns the lines of a text file or shows an image. */
export function readTool(workspace: Workspace): DefinedTool<'read', ReadInput> {
  return defineTool({
    name: 'read',
    description,
    input,
    effects: 'none',
    afterCrash: 'repeat',
    // This limit is larger than the longest result of `readLines`. The agent therefore never cuts off the
    // note that tells the model how to continue.
    maxOutputLength: 120_000,
    summarize: ({ path, offset }) =>
      `Read ${path}${offset === undefined ? '' : ` from line ${offset}`}`,
    execute: async ({ path, offset = 1, limit = defaultLines }, context) => {
      const file = await workspace.boundTo(context.judged).open(path);
      try {
        // The version is noted before the text is read. If the file changes in between, `write` refuses to
        // replace it.
        if (file.stats.size <= maxComparedBytes) {
          const { version } = await readContent(file, maxComparedBytes);
          noteVersion(context, file.place.real, version);
        }
        return await readByKind(file, offset, limit, context);
      } catch (error) {
        throw fromSystemError(path, error);
      } finally {
        await file.handle.close();
      }
    },
  });
}

async function readByKind(
  file: OpenFile,
  first: number,
  count: number,
  { signal }: ToolContext,
): Promise<ToolOutput | string> {
  const sample = new Uint8Array(sampleLength);
  const { bytesRead } = await file.handle.read(sample, 0, sample.length, 0);
  if (bytesRead === 0) return `${file.place.shown} is empty: it has 0 bytes`;
  const kind = fileKind(sample.subarray(0, bytesRead));
  switch (kind.type) {
    case 'text':
      return readLines(file, { first, count, signal });
    case 'image':
      return showImage(file, kind.mimeType);
    case 'document':
      return showDocument(file, kind.mimeType);
    case 'binary':
      return refuseBinary(file, kind);
  }
}

async function showImage(file: OpenFile, mimeType: string): Promise<ToolOutput> {
  const { place, stats } = file;
  const what = `${place.shown} is an image (${mimeType}, ${byteCount(stats.size)})`;
  if (stats.size > maxImageBytes) {
    const way = 'Make a smaller copy and read that';
    return failed(
      `${what}. Only images of at most ${byteCount(maxImageBytes)} can be shown. ${way}`,
    );
  }
  const { bytes } = await readContent(file, maxImageBytes);
  return {
    output: {
      text: what,
      attachments: [{ kind: 'media', mimeType, source: { type: 'bytes', bytes } }],
    },
  };
}

/** Returns a PDF document as an attachment. Models that take no documents get only its name. */
async function showDocument(file: OpenFile, mimeType: string): Promise<ToolOutput> {
  const { place, stats } = file;
  const what = `${place.shown} is a PDF document (${byteCount(stats.size)})`;
  if (stats.size > maxDocumentBytes) {
    const way = 'Extract its text with a program';
    return failed(`${what}. At most ${byteCount(maxDocumentBytes)} can be shown. ${way}`);
  }
  const { bytes } = await readContent(file, maxDocumentBytes);
  const name = place.shown.slice(place.shown.lastIndexOf('/') + 1);
  const source = { type: 'bytes', bytes } as const;
  return {
    output: {
      text: `${what}. If you do not see its content, extract its text with a program`,
      attachments: [{ kind: 'file', name, mimeType, source }],
    },
  };
}

function refuseBinary(
  { place, stats }: OpenFile,
  { kind }: Extract<FileKind, { readonly type: 'binary' }>,
): ToolOutput {
  return failed(
    `Cannot show ${place.shown} as text: it is ${kind} (${byteCount(stats.size)}). Use a program for this format`,
  );
}

function failed(text: string): ToolOutput {
  return { output: { text, isError: true } };
}
