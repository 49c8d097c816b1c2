import type { CallerOptions, CallerTool } from '@millrace/agent';
import { isId, type JsonObject, type JsonValue } from '@millrace/core';
import { z } from 'zod';
import { checkedList } from '../../contract/checked-list.ts';
import { jsonObjectSchema, jsonValueSchema } from '../../contract/content.ts';
import { refused, shown } from '../openai/input-items.ts';

/** The version of AG-UI that the server speaks. */
export const protocolVersion = '1.0';

const text = z.string().max(10_485_760);
const id = z.string().min(1).max(200).refine(isId, 'it contains characters that are not printable');

const sourceSchema = z.looseObject({
  type: z.string().max(64),
  value: text,
  mimeType: z.string().max(255).optional(),
  provider: z.string().max(255).optional(),
});

/** A piece of content. The protocol can get further types, so the server skips types that it does not know. */
const contentPartSchema = z.looseObject({
  type: z.string().max(64),
  text: text.optional(),
  source: sourceSchema.optional(),
  metadata: jsonValueSchema.optional(),
});

const contentSchema = z.union([text, checkedList(contentPartSchema, 10_000), jsonObjectSchema]);

const toolCallSchema = z.looseObject({
  id: z.string().min(1).max(1024),
  type: z.string().max(64),
  function: z.looseObject({ name: z.string().min(1).max(256), arguments: text }),
});

const messageSchema = z.looseObject({
  id: z.string().min(1).max(1024),
  role: z.string().max(64),
  content: contentSchema.optional(),
  toolCalls: checkedList(toolCallSchema, 1000).optional(),
  toolCallId: z.string().max(1024).optional(),
  error: text.optional(),
});

const toolSchema = z.looseObject({
  name: z.string().regex(/^[\w-]{1,64}$/),
  description: z.string().max(100_000),
  parameters: jsonObjectSchema.nullish(),
});

const resumeSchema = z.looseObject({
  interruptId: z.string().min(1).max(1024),
  status: z.enum(['resolved', 'cancelled']),
  payload: jsonValueSchema.nullish(),
});

/** The fields of `RunAgentInput`. */
const fields = {
  threadId: id,
  runId: id,
  protocolVersion: z.string().max(64).optional(),
  parentRunId: id.nullish(),
  state: jsonValueSchema.nullish(),
  messages: checkedList(messageSchema, 10_000),
  tools: checkedList(toolSchema, 1000).optional(),
  context: checkedList(
    z.looseObject({ description: text, value: z.string().max(1_000_000) }),
    1000,
  ).optional(),
  forwardedProps: jsonValueSchema.nullish(),
  resume: checkedList(resumeSchema, 1000).optional(),
};

/**
 * The body of a request that starts a run. The protocol requires that the server accepts unknown fields, so
 * that newer clients work with older servers.
 */
export const runInputSchema = z.looseObject(fields);

type RunInput = z.output<typeof runInputSchema>;
export type InputMessage = RunInput['messages'][number];
export type InputPart = z.output<typeof contentPartSchema>;

/** The answer to an interrupt. */
interface InterruptAnswer {
  readonly callId: string;
  readonly isApproved: boolean;
  readonly reason: string | undefined;
  /** Replaces the input of the call. */
  readonly input: JsonValue | undefined;
  /** The payload, if it can be the fields of a form. */
  readonly fields?: JsonObject | undefined;
  /** The reason why the payload only fits to a form. Default: it fits to every interrupt. */
  readonly problem?: Error | undefined;
}

/** A request that starts a run, in the words of Millrace. */
export interface RunRequest {
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId: string | undefined;
  readonly messages: readonly InputMessage[];
  readonly caller: CallerOptions;
  readonly answers: readonly InterruptAnswer[];
  /** The state of the application. Undefined if the client has none. */
  readonly state: JsonObject | undefined;
  readonly forwardedProps: JsonValue | undefined;
  /** What the server ignores in the request. */
  readonly warnings: readonly string[];
}

/** Reads the body of a request. Throws for values that the server cannot honour. */
export function readRunInput(input: RunInput): RunRequest {
  const { threadId, runId, parentRunId, messages, forwardedProps } = input;
  const unknown = Object.keys(input).filter((key) => !Object.hasOwn(fields, key));
  const warnings = [
    ...(unknown.length > 0 ? [`The server ignores unknown fields: ${namesOf(unknown)}`] : []),
    ...versionWarnings(input.protocolVersion),
  ];
  return {
    ...{ threadId, runId, messages, warnings },
    parentRunId: parentRunId ?? undefined,
    caller: callerOf(input),
    answers: (input.resume ?? []).map((entry, at) => answerOf(entry, `resume[${at}].payload`)),
    state: stateOf(input.state),
    forwardedProps: forwardedProps ?? undefined,
  };
}

function namesOf(keys: readonly string[]): string {
  return keys
    .slice(0, 3)
    .map((key) => (/^\w{1,40}$/.test(key) ? key : 'another field'))
    .join(', ');
}

/** Refuses other major versions, as the protocol allows. Newer minor versions only add to the protocol. */
function versionWarnings(declared: string | undefined): readonly string[] {
  if (declared === undefined || declared === protocolVersion) return [];
  const [, major] = /^(\d+)\.\d+$/.exec(declared) ?? [];
  if (major !== undefined && major !== '1')
    throw refused(
      'protocolVersion',
      `it is ${shown(declared)}. The server speaks AG-UI ${protocolVersion}`,
    );
  return [`The client declares AG-UI ${shown(declared)}. The server speaks ${protocolVersion}`];
}

function callerOf({ tools = [], context = [] }: RunInput): CallerOptions {
  const offered = tools.map(
    ({ name, description, parameters }): CallerTool => ({
      ...{ name, description },
      ...(parameters != null && { parameters }),
    }),
  );
  const instructions = context.map(({ description, value }) => `${description}:\n${value}`);
  return {
    ...(offered.length > 0 && { tools: offered }),
    ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
  };
}

/** Returns the state. An empty object means that the client has no state yet. */
function stateOf(state: JsonValue | null | undefined): JsonObject | undefined {
  if (state == null) return undefined;
  if (typeof state !== 'object' || Array.isArray(state))
    throw refused('state', 'the server stores only objects as the state of a thread');
  return Object.keys(state).length === 0 ? undefined : (state as JsonObject);
}

/** Reads the answer to an interrupt: `{ approved, editedArgs, reason }`, a boolean, or the fields of a form. */
function answerOf(
  { interruptId, status, payload }: z.output<typeof resumeSchema>,
  place: string,
): InterruptAnswer {
  const answer = { callId: interruptId, reason: undefined, input: undefined };
  if (status === 'cancelled') return { ...answer, isApproved: false, reason: 'cancelled' };
  if (typeof payload === 'boolean') return { ...answer, isApproved: payload };
  const given = typeof payload === 'object' ? (payload as JsonObject | null) : null;
  const { approved, editedArgs, reason } = given ?? {};
  if (typeof approved !== 'boolean') {
    const problem = refused(place, 'it must be { approved: true } or { approved: false }');
    if (given === null || Array.isArray(given)) throw problem;
    return { ...answer, isApproved: true, fields: given, problem };
  }
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > 4096))
    throw refused(place, 'its reason must be a text of at most 4096 characters');
  const fields = given ?? undefined;
  return { ...answer, isApproved: approved, reason, input: editedArgs, fields };
}
