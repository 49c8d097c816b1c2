import {
  type FilePart,
  type FoldState,
  type ItemState,
  isJsonObject,
  type JsonObject,
  type MediaPart,
  type Part,
  type ToolResultPart,
  toArray,
  toBase64,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ResponseEnd } from '../openai/response-log.ts';
import { sessionUri } from './protocol/uris.ts';
import { describeQuestion } from './question-text.ts';
import { endText, type RunMoment } from './run-view.ts';
import type { OfferedTool, runStatuses } from './tool-list.ts';

/** Returns the result of a call with an error that the model of the client can read and correct. */
export function errorResult(message: string): JsonObject {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/** Returns the result of a call: the answer of the agent, or the result of its tool. */
export async function toolResult(
  { called }: OfferedTool,
  taskId: string,
  run: RunMoment,
  log: Log,
): Promise<JsonObject> {
  const { end, state } = run;
  if (called === undefined) return agentResult(taskId, run);
  const result = lastResult(state);
  if (result !== undefined) return directResult(result, taskId, log);
  return errorResult((end && endText(end)) ?? 'The call has no result');
}

/** Returns the text that tells a client without forms what to do. */
function waitingText({ waiting, state }: RunMoment, taskId: string): string {
  const questions = waiting.map((asked) => describeQuestion(asked, state));
  const what = questions.length > 0 ? questions.join('\n') : 'Another client runs a tool';
  return `${what}\n\nA person has to answer this first, on the page of the server or with another client of session ${taskId}. This client cannot show the question, because it does not support elicitation. After the answer, call this tool again with this session_id and without a message.`;
}

function agentResult(taskId: string, run: RunMoment): JsonObject {
  const { end, state } = run;
  const answer = lastText(state);
  const problem = end === undefined ? waitingText(run, taskId) : endText(end);
  const status = statusOf(end);
  const texts = [answer, problem].filter((text) => text !== undefined && text !== '');
  const structuredContent = { answer, session_id: taskId, status };
  const uri = sessionUri(taskId);
  return {
    content: [
      { type: 'text', text: texts.join('\n\n') },
      { type: 'resource_link', uri, name: taskId, description: 'The session of this answer' },
    ],
    structuredContent,
    ...(status === 'failed' && { isError: true }),
  };
}

function statusOf(end: ResponseEnd | undefined): (typeof runStatuses)[number] {
  if (end === undefined) return 'waiting';
  if (end.stop.reason === 'aborted') return 'stopped';
  return ['error', 'limit', 'blocked'].includes(end.stop.reason) ? 'failed' : 'completed';
}

/** Returns the text of the last turn in which the model wrote text. */
function lastText({ items }: FoldState): string {
  const all = toArray(items);
  const start = all.findLastIndex(({ kind }) => kind === 'user');
  const written = all.slice(start + 1).filter(({ kind }) => kind === 'assistant');
  const texts = written.map((item) => ({ turn: item.turn, text: textOf(item) }));
  const last = texts.findLast(({ text }) => text !== '');
  return texts.flatMap(({ turn, text }) => (turn === last?.turn ? text : [])).join('');
}

function textOf({ parts }: ItemState): string {
  return partsOf(parts)
    .flatMap((part) => (part.kind === 'text' ? part.text : []))
    .join('');
}

function partsOf(parts: ItemState['parts']): readonly Part[] {
  return parts.flatMap(({ part }) => part ?? []);
}

function lastResult({ items }: FoldState): ToolResultPart | undefined {
  for (const { parts } of toArray(items).toReversed())
    for (const part of partsOf(parts)) if (part.kind === 'tool_result') return part;
  return undefined;
}

async function directResult(
  { text, isError, value, attachments = [] }: ToolResultPart,
  taskId: string,
  log: Log,
): Promise<JsonObject> {
  const files = await Promise.all(attachments.map((part) => fileContent(part, taskId, log)));
  const content = [
    ...(text !== '' || files.length === 0 ? [{ type: 'text', text }] : []),
    ...files.flat(),
  ];
  return {
    content,
    ...(isJsonObject(value) && { structuredContent: value }),
    ...(isError && { isError: true }),
  };
}

/** Maximum size of a file in a result. A larger file is a link. */
const maxFileBytes = 8 * 2 ** 20;

async function fileContent(
  part: MediaPart | FilePart,
  taskId: string,
  log: Log,
): Promise<readonly JsonObject[]> {
  const { mimeType, source } = part;
  const name = part.kind === 'file' ? part.name : mimeType;
  if (source.type === 'url') return [{ type: 'resource_link', uri: source.url, name, mimeType }];
  if (source.type === 'provider_file') return [];
  const isBlob = source.type === 'blob';
  const uri = isBlob
    ? sessionUri(taskId, `blobs/${source.hash}`)
    : sessionUri(taskId, `files/${encodeURIComponent(name)}`);
  if (isBlob && source.length > maxFileBytes)
    return [{ type: 'resource_link', uri, name, mimeType, size: source.length }];
  const bytes = isBlob ? await log.blobs.get(source.hash) : source.bytes;
  if (bytes === undefined) return [];
  const data = toBase64(bytes);
  if (part.kind === 'media' && /^(?:image|audio)\//.test(mimeType))
    return [{ type: mimeType.startsWith('image/') ? 'image' : 'audio', data, mimeType }];
  return [{ type: 'resource', resource: fileResource(uri, mimeType, bytes) }];
}

/** Returns the contents of a resource. A text is sent as text, and other files as Base64. */
export function fileResource(uri: string, mimeType: string, bytes: Uint8Array): JsonObject {
  if (/^text\/|[/+](?:json|xml|yaml)$|^application\/(?:json|xml|yaml)/.test(mimeType))
    return { uri, mimeType, text: new TextDecoder().decode(bytes) };
  return { uri, mimeType, blob: toBase64(bytes) };
}
