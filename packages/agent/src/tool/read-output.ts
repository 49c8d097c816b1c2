import { type FoldState, type Part, toArray } from '@millrace/core';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isFullOutput } from '../calls/clipped-result.ts';
import type { ToolContext, ToolOutput } from '../contract/tool.ts';
import { assertKnownOptions } from '../known-options.ts';
import { type DefinedTool, defineTool } from './define-tool.ts';

interface ByteRange {
  readonly output: string;
  readonly start?: number | undefined;
  readonly length?: number | undefined;
  readonly wait_ms?: number | undefined;
  readonly stop?: boolean | undefined;
}

/** The outputs of work that continues in the background, for example of commands. */
export interface RunningOutputs {
  /**
   * Reads the output of running or ended work of a session. Returns undefined if the session has no work with
   * this id.
   */
  read(id: string, request: RunningOutputRequest): Promise<ToolOutput | undefined>;
}

/** A request to read, to await or to stop work that continues in the background. */
export interface RunningOutputRequest
  extends Pick<ToolContext, 'session' | 'signal' | 'sessionState'> {
  /** The first byte. Default: the first byte that no earlier call has read. */
  readonly start?: number | undefined;
  /** Maximum number of bytes. */
  readonly length: number;
  /** Maximum time to wait for the end of the work. Default: 0. */
  readonly waitMs?: number | undefined;
  /** If true, the work is stopped before its output is read. Default: false. */
  readonly stop?: boolean | undefined;
}

/** Options of `readOutputTool`. */
export interface ReadOutputOptions {
  /** The name of the tool. Default: `read_output`. */
  readonly name?: string | undefined;
  /** Maximum number of bytes per call. Default: 20,000. */
  readonly maxBytes?: number | undefined;
  /**
   * The work whose output the tool also reads, for example `backgroundCommands` of `@millrace/tools`. The
   * model can then also wait for that work and stop it. Default: none.
   */
  readonly running?: RunningOutputs | undefined;
}

const description = `Reads a stretch of a tool's output that was too long and was clipped.
"output" is the id that is named where it was clipped; "start" and "length" are in bytes.`;

const runningDescription = `Reads on in a clipped output, or in that of a background command (c1).
wait_ms waits for its end, stop ends it. start and length are in bytes.`;

/** Maximum time that a call waits for running work, in milliseconds. */
const maxWaitMs = 600_000;
/** Matches the id of running work. The id of a stored output has 64 characters. */
const runningId = /^c[1-9]\d{0,5}$/;

/** Creates a tool with which the model can read the removed part of a long output. */
export function readOutputTool(options: ReadOutputOptions = {}): DefinedTool<string, ByteRange> {
  assertKnownOptions('readOutputTool', options, { name: true, maxBytes: true, running: true });
  const { name = 'read_output', maxBytes = 20_000, running } = options;
  return defineTool({
    name,
    description: running === undefined ? description : runningDescription,
    input: rangeSchema(running !== undefined),
    // With running work, a call has effects: it can stop the work, and it moves the position of the next call.
    effects: running === undefined ? 'none' : 'external',
    afterCrash: 'repeat',
    maxOutputLength: maxBytes + 1000,
    summarize: ({ output, stop }) =>
      `${stop === true ? 'stop' : 'read on in'} output ${output.slice(0, 12)}`,
    async execute(input, context) {
      const { output, start = 0, length = maxBytes } = input;
      const { blobs, sessionState, isWithheld } = context;
      if (running !== undefined && runningId.test(output)) {
        const { session, signal } = context;
        const request = {
          ...{ session, signal, sessionState, start: input.start, stop: input.stop },
          ...{ length: Math.min(length, maxBytes), waitMs: input.wait_ms },
        };
        const read = await running.read(output, request);
        if (read === undefined) throw new Error(`There is no output ${output}.`);
        return read;
      }
      // The store also has the blobs of other sessions, which this session must not read.
      if (sessionState !== undefined && !(await hasOutput(sessionState(), output, isWithheld)))
        throw new Error(`There is no output ${output}.`);
      const end = start + Math.min(length, maxBytes);
      const bytes = await blobs.slice(output, start, end);
      if (bytes === undefined) throw new Error(`There is no output ${output}.`);
      if (bytes.length === 0) return `There is nothing at byte ${start}: it ends before that.`;
      // A range may start or end inside a multi-byte character. The decoder shows such a character as U+FFFD.
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
      const isLast = bytes.length < end - start;
      const read = isLast ? text : `${text}\n[… go on with start ${start + bytes.length} …]`;
      // A guardrail that checks the result reads the whole output.
      const metadata = { readFrom: output };
      return sessionState === undefined ? read : { output: { text: read, metadata } };
    },
  });
}

/** Returns true if a result that the model may read was clipped, and this blob has its full text. */
async function hasOutput(
  { items }: FoldState,
  hash: string,
  isWithheld: ToolContext['isWithheld'] = async () => false,
): Promise<boolean> {
  const isIt = (part: Part | undefined) =>
    part?.kind === 'tool_result' &&
    (part.attachments ?? []).some(
      (one) => one.source.type === 'blob' && one.source.hash === hash && isFullOutput(one, part),
    );
  for (const { id, parts } of toArray(items))
    if (parts.some(({ part }) => isIt(part)) && !(await isWithheld(id))) return true;
  return false;
}

const byteCount = { type: 'integer', minimum: 0 } as const;
const ranges = {
  output: { type: 'string' },
  start: byteCount,
  length: { ...byteCount, minimum: 1 },
} as const;
const control = {
  wait_ms: byteCount,
  stop: { type: 'boolean' },
} as const;

/** The schema of the input. It is handwritten, because this package depends on no schema library. */
function rangeSchema(
  canRun: boolean,
): StandardSchemaV1<ByteRange> & StandardJSONSchemaV1<ByteRange> {
  const properties = canRun ? { ...ranges, ...control } : ranges;
  const jsonSchema = { type: 'object', properties, required: ['output'] };
  return {
    '~standard': {
      version: 1,
      vendor: 'millrace',
      validate(value) {
        const { output, start, length, wait_ms, stop } = (value ?? {}) as Partial<ByteRange>;
        const isId = typeof output === 'string' && /^[0-9a-f]{64}$/.test(output);
        if (!isId && !(canRun && typeof output === 'string' && runningId.test(output)))
          return { issues: [{ message: 'it is the id of an output', path: ['output'] }] };
        if (start !== undefined && !(Number.isSafeInteger(start) && start >= 0))
          return { issues: [{ message: 'it is a number of bytes', path: ['start'] }] };
        if (length !== undefined && !(Number.isSafeInteger(length) && length >= 1))
          return { issues: [{ message: 'it is a number of bytes, at least 1', path: ['length'] }] };
        if (!canRun) return { value: { output, start, length } };
        if (wait_ms !== undefined && !(Number.isSafeInteger(wait_ms) && isWait(wait_ms)))
          return {
            issues: [{ message: `it is a time from 0 to ${maxWaitMs}`, path: ['wait_ms'] }],
          };
        if (stop !== undefined && typeof stop !== 'boolean')
          return { issues: [{ message: 'it is true or false', path: ['stop'] }] };
        return { value: { output, start, length, wait_ms, stop } };
      },
      jsonSchema: { input: () => ({ ...jsonSchema }), output: () => ({ ...jsonSchema }) },
    },
  };
}

function isWait(ms: number): boolean {
  return ms >= 0 && ms <= maxWaitMs;
}
