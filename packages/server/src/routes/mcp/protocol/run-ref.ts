import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { isId, type JsonObject } from '@millrace/core';
import type { Question } from '../../openai/response-log.ts';
import type { ResponseRef } from '../../openai/response-starts.ts';

/** Returns the id of a task of MCP. A task is the answer to one message of a session. */
export function taskIdOf({ taskId, offset }: ResponseRef): string {
  return `run_${taskId}_${offset}`;
}

/** Reads the id of a task of MCP. Returns undefined if the text is not such an id. */
export function parseTaskId(id: unknown): ResponseRef | undefined {
  if (typeof id !== 'string') return undefined;
  const [, taskId = '', offset = ''] = /^run_(.{1,1024})_(\d{1,15})$/.exec(id) ?? [];
  return isId(taskId) ? { taskId, offset: Number(offset) } : undefined;
}

/** The call to which a state belongs, and the offset at which its run waits. */
export interface CalledTool {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Returns the text of a state without its signature. */
function stateHead(ref: ResponseRef, at: number): string {
  return `${taskIdOf(ref)}.${at}`;
}

/**
 * Returns the state that the client sends back with its answers. It names the run. The signature binds the state
 * to the call. Its key is the key of the command on the log, so every server of a cluster can check it, also
 * after a restart.
 */
export function requestState(question: Question, call: CalledTool, at: number): string {
  return `${stateHead(question, at)}.${signature(question, call, at)}`;
}

function signature(question: Question, call: CalledTool, at: number): string {
  const { key } = question;
  const digest = createHash('sha256').update(canonical(call.arguments)).digest('hex');
  const signed = JSON.stringify([stateHead(question, at), call.name, digest]);
  return createHmac('sha256', key).update(signed).digest('base64url');
}

/** Returns the run that a state names, without a check of the signature. */
export function runOfState(state: string): ResponseRef | undefined {
  const [, id] = /^(.+)\.\d+\.[\w-]{43}$/.exec(state) ?? [];
  return parseTaskId(id);
}

/** Returns whether a state was created for this run and this call. */
export function isStateOf(state: string, question: Question, call: CalledTool): boolean {
  const at = Number(state.split('.').at(-2));
  const [given, own] = [Buffer.from(state), Buffer.from(requestState(question, call, at))];
  return given.length === own.length && timingSafeEqual(given, own);
}

/** Returns JSON with sorted fields, because a client can change the order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
