import type { JsonObject, JsonValue } from '@millrace/core';
import { z } from 'zod';
import { maxPictures } from '../input/attachments/sent-picture.ts';

/** The version of the protocol. It changes if a client of the earlier version would fail. */
export const rpcVersion = 1;

/** The error codes of JSON-RPC 2.0, and the code for errors of the program. */
export const errorCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  failed: -32_000,
} as const;

/** An error that the client gets as the response. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: JsonObject | undefined;

  constructor(kind: keyof typeof errorCodes, message: string, data?: JsonObject) {
    super(message);
    this.name = 'RpcError';
    this.code = errorCodes[kind];
    this.data = data;
  }
}

/** The place of an approval. A call of a sub-agent also needs `asker`, the session of the sub-agent. */
interface ApprovalParams {
  readonly session: string;
  readonly call: string;
  readonly asker?: string | undefined;
}

/** The parameters of a method that needs only a session. */
interface SessionParams {
  readonly session: string;
}

/** The parameters of each method. */
interface RpcParams {
  readonly initialize: { readonly version: number };
  readonly 'session.open': {
    /** Default: the folder of the process. */
    readonly cwd?: string | undefined;
    /** Default: a new session. */
    readonly session?: string | undefined;
    /** Events up to this offset are not sent. Default: only new events are sent. */
    readonly after?: number | undefined;
    /** The incarnation to which `after` belongs. Default: not checked. */
    readonly incarnation?: string | undefined;
  };
  readonly 'session.list': {
    /** Lists only the sessions of this folder. Default: all sessions. */
    readonly cwd?: string | undefined;
    /** The field `next` of the last page. Default: the first page. */
    readonly after?: number | undefined;
  };
  readonly 'session.send': {
    readonly session: string;
    readonly text: string;
    /** The id of the message. A message with the same id is sent once. Default: a new id. */
    readonly message?: string | undefined;
    /**
     * Decides when the agent reads the message. `steer`: with the next request of the run.
     * `follow_up`: when the run would otherwise end. Default: `steer`.
     */
    readonly when?: 'steer' | 'follow_up' | undefined;
    /** Pictures as Base64. Default: none. */
    readonly pictures?: readonly string[] | undefined;
  };
  readonly 'session.wait': SessionParams;
  readonly 'session.read': SessionParams;
  readonly 'session.approve': ApprovalParams & {
    /** The input for the call, or the answers to a form. Default: the input of the model. */
    readonly input?: JsonValue | undefined;
    /** If set, all calls that match the rule of the approval are allowed until the session ends. */
    readonly until?: 'session' | undefined;
  };
  readonly 'session.deny': ApprovalParams & { readonly reason?: string | undefined };
  readonly 'session.mode': { readonly session: string; readonly mode: string };
  readonly 'session.continue': SessionParams;
  readonly 'session.stop': SessionParams;
  readonly 'session.close': SessionParams;
}

export type Method = keyof RpcParams;
export type ParamsOf<Name extends Method> = RpcParams[Name];

const id = z.string().min(1).max(1024);
const text = z.string().max(8 * 1024 * 1024);
const json = z.json() as z.ZodType<JsonValue>;
const onlySession = z.strictObject({ session: id });
const approval = { session: id, call: id, asker: id.optional() };

/** The checks of the parameters. A field that is not listed is an error. */
const schemas: { readonly [Name in Method]: z.ZodType<RpcParams[Name]> } = {
  initialize: z.strictObject({ version: z.int() }),
  'session.open': z.strictObject({
    cwd: z.string().optional(),
    session: id.optional(),
    after: z.int().min(0).optional(),
    incarnation: z.string().max(64).optional(),
  }),
  'session.list': z.strictObject({
    cwd: z.string().optional(),
    after: z.int().min(0).optional(),
  }),
  'session.send': z.strictObject({
    session: id,
    text,
    message: id.optional(),
    when: z.enum(['steer', 'follow_up']).optional(),
    pictures: z.array(z.base64()).max(maxPictures).optional(),
  }),
  'session.wait': onlySession,
  'session.read': onlySession,
  'session.approve': z.strictObject({
    ...approval,
    input: json.optional(),
    until: z.literal('session').optional(),
  }),
  'session.deny': z.strictObject({ ...approval, reason: text.optional() }),
  'session.mode': z.strictObject({ session: id, mode: z.string() }),
  'session.continue': onlySession,
  'session.stop': onlySession,
  'session.close': onlySession,
};

export const methodNames: readonly Method[] = Object.keys(schemas) as Method[];

/** Checks the parameters of a method. Throws `RpcError` with the name of the first wrong field. */
export function readParams<Name extends Method>(name: Name, params: unknown): ParamsOf<Name> {
  const checked = schemas[name].safeParse(params ?? {});
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const field = issue?.path.join('.') ?? '';
  const where = field === '' ? name : `${name}: ${field}`;
  throw new RpcError('invalidParams', `${where}: ${issue?.message ?? 'wrong parameters'}`, {
    method: name,
    ...(field !== '' && { field }),
  });
}

/** A request of the client. A request without an id is a notification and gets no response. */
export interface RpcRequest {
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: unknown;
}

const request = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string().max(256), z.number()]).optional(),
  method: z.string().max(256),
  params: z.unknown().optional(),
});

/** Reads one line of the input. Throws `RpcError` if the line is not a request. */
export function readRequest(line: string): RpcRequest {
  const value = parseJson(line);
  if (value === undefined)
    throw new RpcError('parse', 'The line is not JSON. Each line must contain one request');
  const checked = request.safeParse(value);
  if (!checked.success)
    throw new RpcError(
      'invalidRequest',
      'The line is not a request of JSON-RPC 2.0: {"jsonrpc":"2.0","id":1,"method":"…","params":{…}}',
    );
  const { id: requestId, method, params } = checked.data;
  return { id: requestId, method, params };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
