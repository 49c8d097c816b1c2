import { type FoldState, findLast, type Part } from '@millrace/core';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isFullOutput } from '../calls/clipped-result.ts';
import { assertKnownOptions } from '../known-options.ts';
import { type DefinedTool, defineTool } from './define-tool.ts';

interface ByteRange {
  readonly output: string;
  readonly start?: number | undefined;
  readonly length?: number | undefined;
}

/** Options of `readOutputTool`. */
export interface ReadOutputOptions {
  /** The name of the tool. Default: `read_output`. */
  readonly name?: string | undefined;
  /** Maximum number of bytes per call. Default: 20,000. */
  readonly maxBytes?: number | undefined;
}

const description = `Reads a stretch of a tool's output that was too long and was clipped.
"output" is the id that is named where it was clipped; "start" and "length" are in bytes.`;

/** Creates a tool with which the model can read the removed part of a long output. */
export function readOutputTool(options: ReadOutputOptions = {}): DefinedTool<string, ByteRange> {
  assertKnownOptions('readOutputTool', options, { name: true, maxBytes: true });
  const { name = 'read_output', maxBytes = 20_000 } = options;
  return defineTool({
    name,
    description,
    input: rangeSchema,
    effects: 'none',
    afterCrash: 'repeat',
    maxOutputLength: maxBytes + 1000,
    summarize: ({ output }) => `read on in output ${output.slice(0, 12)}`,
    async execute({ output, start = 0, length = maxBytes }, { blobs, sessionState }) {
      // The store also has the blobs of other sessions, which this session must not read.
      if (sessionState !== undefined && !hasOutput(sessionState(), output))
        throw new Error(`There is no output ${output}.`);
      const end = start + Math.min(length, maxBytes);
      const bytes = await blobs.slice(output, start, end);
      if (bytes === undefined) throw new Error(`There is no output ${output}.`);
      if (bytes.length === 0) return `There is nothing at byte ${start}: it ends before that.`;
      // A range may start or end inside a multi-byte character. The decoder shows such a character as U+FFFD.
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
      const isLast = bytes.length < end - start;
      return isLast ? text : `${text}\n[… go on with start ${start + bytes.length} …]`;
    },
  });
}

/** Returns true if a result of the session was clipped, and this blob has its full text. */
function hasOutput({ items }: FoldState, hash: string): boolean {
  const isIt = (part: Part | undefined) =>
    part?.kind === 'tool_result' &&
    (part.attachments ?? []).some(
      (one) => one.source.type === 'blob' && one.source.hash === hash && isFullOutput(one, part),
    );
  return findLast(items, ({ parts }) => parts.some(({ part }) => isIt(part))) !== undefined;
}

const byteCount = { type: 'integer', minimum: 0 } as const;
const jsonSchema = {
  type: 'object',
  properties: {
    output: { type: 'string' },
    start: byteCount,
    length: { ...byteCount, minimum: 1 },
  },
  required: ['output'],
} as const;

/** The schema of the range. It is handwritten, because this package depends on no schema library. */
const rangeSchema: StandardSchemaV1<ByteRange> & StandardJSONSchemaV1<ByteRange> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      const { output, start, length } = (value ?? {}) as Partial<ByteRange>;
      if (typeof output !== 'string' || !/^[0-9a-f]{64}$/.test(output))
        return { issues: [{ message: 'it is the id of an output', path: ['output'] }] };
      if (start !== undefined && !(Number.isSafeInteger(start) && start >= 0))
        return { issues: [{ message: 'it is a number of bytes', path: ['start'] }] };
      if (length !== undefined && !(Number.isSafeInteger(length) && length >= 1))
        return { issues: [{ message: 'it is a number of bytes, at least 1', path: ['length'] }] };
      return { value: { output, start, length } };
    },
    jsonSchema: { input: () => ({ ...jsonSchema }), output: () => ({ ...jsonSchema }) },
  },
};
