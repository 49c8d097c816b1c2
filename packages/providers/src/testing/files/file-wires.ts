import type { IncomingMessage } from 'node:http';
import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import type { WireName as Rules } from '../../scripted-server/answers/wire-answer.ts';

export type WireName = 'openai' | 'anthropic' | 'gemini';

type Route =
  | { readonly type: 'model' | 'start' | 'upload' }
  | { readonly type: 'get' | 'delete'; readonly id: string };

interface SentUpload {
  readonly name?: string;
  readonly content: string;
  readonly mimeType: string;
  readonly lifetimeMs: number;
}

interface DescribedFile {
  readonly id: string;
  readonly content: string;
  readonly mimeType: string;
  readonly url: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly state: string;
}

/** The files API and the model API of one provider. */
export interface FileWire {
  readonly name: WireName;
  isFor(url: URL, request: IncomingMessage): boolean;
  keyOf(request: IncomingMessage): string;
  routeOf(url: URL, request: IncomingMessage): Route;
  /** Reads an upload. Returns the file, or the rule that the upload breaks. */
  readUpload(
    request: IncomingMessage,
    body: Buffer,
    session: { readonly name: string; readonly mimeType: string } | undefined,
  ): Promise<SentUpload | string>;
  uploadAnswer(file: DescribedFile): object;
  fileAnswer(file: DescribedFile): object;
  missing(id: string): readonly [status: number, body: object];
  /** Returns the ids of the files that a model request refers to. */
  namedFiles(body: JsonObject, url: string): readonly string[];
  /** Returns the rules that a model request must follow. */
  rulesFor(body: JsonObject): Rules;
  /** Returns the events of a short answer to a model request. */
  events(body: JsonObject): readonly object[];
}

const purposes = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'];

/** Returns a file in the form of `FileObject` of the package `openai`. */
function openaiFile({ id, content, createdAtMs, expiresAtMs }: DescribedFile): object {
  return {
    id,
    object: 'file',
    bytes: content.length,
    created_at: Math.floor(createdAtMs / 1000),
    expires_at: Math.floor(expiresAtMs / 1000),
    filename: 'a',
    purpose: 'user_data',
    status: 'processed',
  };
}

/** Returns a file in the form of `FileMetadata` of the package `@anthropic-ai/sdk`. */
function anthropicFile({ id, content, mimeType, createdAtMs, expiresAtMs }: DescribedFile): object {
  return {
    id,
    type: 'file',
    created_at: new Date(createdAtMs).toISOString(),
    expires_at: new Date(expiresAtMs).toISOString(),
    filename: 'a',
    mime_type: mimeType,
    size_bytes: content.length,
    downloadable: false,
  };
}

/** Returns a file in the form of `File` of the package `@google/genai`. */
function geminiFile(file: DescribedFile): object {
  const { id, url, mimeType, content, createdAtMs, expiresAtMs, state } = file;
  return {
    name: `files/${id}`,
    uri: `${url}/v1beta/files/${id}`,
    mimeType,
    sizeBytes: String(content.length),
    createTime: new Date(createdAtMs).toISOString(),
    expirationTime: new Date(expiresAtMs).toISOString(),
    state,
  };
}

const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;

async function readForm(
  request: IncomingMessage,
  body: Buffer,
  secondsField: string,
  maxSeconds: number,
): Promise<(SentUpload & { readonly form: FormData }) | string> {
  const headers = { 'content-type': String(request.headers['content-type']) };
  const form = await new Response(new Uint8Array(body), { headers }).formData();
  const file = form.get('file');
  if (!(file instanceof File) || file.name === '') return 'there is no file with a name';
  const seconds = Number(form.get(secondsField));
  if (!(seconds >= hourSeconds && seconds <= maxSeconds)) return `${secondsField} is ${seconds}`;
  const content = Buffer.from(await file.arrayBuffer()).toString('latin1');
  return { form, content, mimeType: file.type, lifetimeMs: seconds * 1000 };
}

function idsAt(value: JsonValue, field: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => idsAt(one, field));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === field && typeof inner === 'string' ? [inner] : idsAt(inner, field),
  );
}

function routeOfFiles(url: URL, { method }: IncomingMessage, isModel: boolean): Route {
  if (isModel) return { type: 'model' };
  const id = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
  if (method === 'DELETE') return { type: 'delete', id };
  return method === 'GET' ? { type: 'get', id } : { type: 'upload' };
}

const openai: FileWire = {
  name: 'openai',
  isFor: (url, { headers }) =>
    url.pathname.startsWith('/v1/') && headers['anthropic-version'] === undefined,
  keyOf: ({ headers }) => String(headers.authorization).replace('Bearer ', ''),
  routeOf: (url, request) =>
    routeOfFiles(url, request, /\/(?:responses|chat\/completions)$/.test(url.pathname)),
  async readUpload(request, body) {
    const sent = await readForm(request, body, 'expires_after[seconds]', 30 * daySeconds);
    if (typeof sent === 'string') return sent;
    const purpose = String(sent.form.get('purpose'));
    if (!purposes.includes(purpose)) return `the purpose is ${purpose}`;
    const isAnchored = sent.form.get('expires_after[anchor]') === 'created_at';
    return isAnchored ? sent : 'there is no anchor';
  },
  uploadAnswer: openaiFile,
  fileAnswer: openaiFile,
  missing: (id) => [
    404,
    { error: { message: `No such File object: ${id}`, type: 'invalid_request_error', code: null } },
  ],
  namedFiles: (body) => idsAt(body, 'file_id'),
  rulesFor: (body) => ('input' in body ? 'openai-responses' : 'openai-chat'),
  events: (body) => ('input' in body ? responsesEvents : chatEvents),
};

const responsesEvents = [
  { type: 'response.created', response: { id: 'r1', status: 'in_progress', output: [] } },
  {
    type: 'response.completed',
    response: { id: 'r1', status: 'completed', output: [], usage: {} },
  },
];

const chatEvents = [{ choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] }];

const anthropic: FileWire = {
  name: 'anthropic',
  isFor: (url, { headers }) =>
    url.pathname.startsWith('/v1/') && headers['anthropic-version'] !== undefined,
  keyOf: ({ headers }) => String(headers['x-api-key']),
  routeOf: (url, request) => routeOfFiles(url, request, url.pathname.endsWith('/messages')),
  async readUpload(request, body) {
    if (!/files-api-2025-04-14/.test(String(request.headers['anthropic-beta']))) return 'no beta';
    return readForm(request, body, 'expires_in_seconds', 90 * daySeconds);
  },
  uploadAnswer: anthropicFile,
  fileAnswer: anthropicFile,
  missing: (id) => [
    404,
    { type: 'error', error: { type: 'not_found_error', message: `File not found: ${id}` } },
  ],
  namedFiles: (body) => idsAt(body, 'file_id'),
  rulesFor: () => 'anthropic',
  events: () => [
    { type: 'message_start', message: { id: 'm1', usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
};

const gemini: FileWire = {
  name: 'gemini',
  isFor: (url) => /^\/(?:upload|v1beta)\//.test(url.pathname),
  keyOf: ({ headers }) => String(headers['x-goog-api-key']),
  routeOf: (url, request) => {
    if (request.headers['x-goog-upload-command'] === 'start') return { type: 'start' };
    return routeOfFiles(url, request, url.pathname.endsWith(':streamGenerateContent'));
  },
  async readUpload({ headers }, body, session) {
    if (session === undefined) return 'the upload was not started';
    if (headers['x-goog-upload-command'] !== 'upload, finalize') return 'it is not finalized';
    const name = session.name.replace(/^files\//, '');
    if (!/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name)) return `the name is ${name}`;
    const content = body.toString('latin1');
    return { name, content, mimeType: session.mimeType, lifetimeMs: 2 * daySeconds * 1000 };
  },
  uploadAnswer: (file) => ({ file: geminiFile(file) }),
  fileAnswer: geminiFile,
  missing: (id) => [
    403,
    {
      error: {
        code: 403,
        message: `You do not have permission to access the File ${id} or it may not exist.`,
        status: 'PERMISSION_DENIED',
      },
    },
  ],
  namedFiles: (body, url) =>
    idsAt(body, 'fileUri').map((uri) => uri.replace(`${url}/v1beta/files/`, '')),
  rulesFor: () => 'gemini',
  events: () => [
    {
      candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    },
  ],
};

export const fileWires: readonly FileWire[] = [gemini, anthropic, openai];
