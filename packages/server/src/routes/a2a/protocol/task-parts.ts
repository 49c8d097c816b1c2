import {
  type FilePart,
  type FoldState,
  type ItemState,
  isId,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaPart,
  type Part,
  parseJson,
  toArray,
  toBase64,
} from '@millrace/core';
import { openPart } from '../../../messages/part-content.ts';
import { field } from '../../mcp/protocol/rpc-message.ts';
import type { TaskPlace } from '../contract.ts';

/** An artifact: content that the agent produced. `length` is the length of its text. */
export interface Artifact {
  readonly id: string;
  readonly length: number;
  readonly artifact: JsonObject;
}

/** Returns the artifacts of a part: a text, data, or files. Other parts are messages. */
export function artifactsOf(id: string, part: Part, place: TaskPlace): readonly Artifact[] {
  const of = (artifactId: string, content: JsonObject, more: JsonObject = {}): Artifact => ({
    ...{ id: artifactId, length: part.kind === 'text' ? part.text.length : 0 },
    artifact: { artifactId, ...more, parts: [content] },
  });
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [of(id, { text: part.text })];
    case 'structured':
      return [of(id, { data: part.value })];
    case 'media':
    case 'file':
      return [of(id, fileContent(part, place), nameOf(part))];
    case 'tool_result': {
      const { attachments = [] } = part;
      return attachments.map((file, index) =>
        of(`${id}.${index}`, fileContent(file, place), nameOf(file)),
      );
    }
    default:
      return [];
  }
}

function nameOf(file: MediaPart | FilePart): JsonObject {
  return file.kind === 'file' ? { name: file.name } : {};
}

/**
 * Returns a file as a part of A2A. A file in the blob store is a link without the URL of the server, because
 * clients with different URLs share a view. `linkTask` and `linkEvent` complete the links.
 */
function fileContent(file: MediaPart | FilePart, { sessionId }: TaskPlace): JsonObject {
  const { source, mimeType: mediaType } = file;
  const known = { mediaType, ...(file.kind === 'file' && { filename: file.name }) };
  switch (source.type) {
    case 'bytes':
      return { raw: toBase64(source.bytes), ...known };
    case 'url':
      return { url: source.url, ...known };
    case 'blob': {
      const path = `/tasks/${encodeURIComponent(sessionId)}/blobs/${source.hash}`;
      return { url: path, ...known };
    }
    case 'provider_file':
      return { text: `A file of ${source.provider}: ${source.id}`, ...known };
  }
}

/** Completes the links of a task with the URL of the server. */
export function linkTask(task: JsonObject, base: string): JsonObject {
  const { artifacts, history } = task;
  return {
    ...task,
    ...(artifacts !== undefined && { artifacts: linkAll(artifacts, base) }),
    ...(history !== undefined && { history: linkAll(history, base) }),
  };
}

/** Completes the links of an event with the URL of the server. */
export function linkEvent(event: JsonObject, base: string): JsonObject {
  const { task, artifactUpdate: update } = event;
  if (isJsonObject(task)) return { task: linkTask(task, base) };
  if (!isJsonObject(update)) return event;
  const [artifact = null] = linkAll([update['artifact'] ?? null], base);
  return { artifactUpdate: { ...update, artifact } };
}

/** Completes the links in the parts of artifacts or messages. */
function linkAll(values: JsonValue, base: string): JsonValue[] {
  const link = (part: JsonValue) => {
    const url = field(part, 'url');
    const isLink = typeof url === 'string' && /^\/tasks\/[^/]+\/blobs\//.test(url);
    return isJsonObject(part) && isLink ? { ...part, url: `${base}${url}` } : part;
  };
  return (values as JsonValue[]).map((one) => {
    const parts = field(one, 'parts');
    return isJsonObject(one) && Array.isArray(parts) ? { ...one, parts: parts.map(link) } : one;
  });
}

/** Returns the content of a message about a part: reasoning, a call, or its result. */
export function messageContent(part: Part): JsonObject | undefined {
  switch (part.kind) {
    case 'reasoning':
      if (part.form === 'redacted' || part.text === '') return undefined;
      return { text: part.text, metadata: { kind: 'reasoning' } };
    case 'tool_call': {
      const { toolCallId: id, name, arguments: given } = part;
      const read = parseJson(given);
      return { data: { kind: 'tool_call', id, name, arguments: read.ok ? read.value : given } };
    }
    case 'tool_result': {
      const { toolCallId: id, name, text, isError } = part;
      return { data: { kind: 'tool_result', id, name, text, isError } };
    }
    default:
      return undefined;
  }
}

/** Returns a message of the agent. */
export function agentMessage(id: string, parts: readonly JsonObject[], place: TaskPlace) {
  const { contextId, taskId } = place;
  return { messageId: id, contextId, taskId, role: 'ROLE_AGENT', parts: [...parts] } as JsonObject;
}

function userMessage({ id, parts, metadata }: ItemState, place: TaskPlace): JsonObject {
  const stored = metadata?.['a2a'];
  const messageId = field(stored, 'messageId');
  const own = field(stored, 'metadata');
  const { contextId, taskId } = place;
  return {
    ...{ messageId: typeof messageId === 'string' && isId(messageId) ? messageId : id },
    ...{ contextId, taskId, role: 'ROLE_USER' },
    parts: parts.flatMap(({ part }) => userContent(part, place)),
    ...(isJsonObject(own) && { metadata: own }),
  };
}

function userContent(part: Part | undefined, place: TaskPlace): readonly JsonObject[] {
  if (part?.kind === 'media' || part?.kind === 'file') return [fileContent(part, place)];
  if (part?.kind !== 'text') return [];
  const read = part.mimeType === 'application/json' ? parseJson(part.text) : undefined;
  return [read?.ok ? { data: read.value } : { text: part.text }];
}

/** A part of the agent in the session. */
export interface AgentPart {
  readonly id: string;
  readonly part: Part;
}

/** Returns the parts that the agent and its tools have written in some items, also the unfinished ones. */
export function agentParts(state: FoldState, items: readonly ItemState[]): readonly AgentPart[] {
  const written = items.filter(({ kind }) => kind === 'assistant' || kind === 'tool');
  return written.flatMap(({ parts }) =>
    parts.flatMap(({ id, part = openPart(state, id) }) => (part === undefined ? [] : { id, part })),
  );
}

/** Returns the history of a task: messages of the user, and messages of the agent about its work. */
export function historyOf(items: readonly ItemState[], place: TaskPlace): readonly JsonObject[] {
  return items.flatMap((item) => {
    if (item.kind === 'user') return [userMessage(item, place)];
    return item.parts.flatMap(({ id, part }) => {
      const content = part && messageContent(part);
      return content === undefined ? [] : [agentMessage(id, [content], place)];
    });
  });
}

/** Returns the items of a run: the given items of users, and the items of the given turns. */
export function itemsOfRun(
  { items }: FoldState,
  userItems: ReadonlySet<string>,
  turns: ReadonlySet<number>,
): readonly ItemState[] {
  return toArray(items).filter(({ id, turn }) => userItems.has(id) || turns.has(turn));
}
