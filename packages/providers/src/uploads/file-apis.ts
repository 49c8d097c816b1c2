import type { JsonObject } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { countIn, objectIn, textIn } from '../json/fields.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { withQuery } from '../wire/base-url.ts';
import type { FileApi, StoredFile, UploadContent, UploadContext } from './file-storage.ts';
import { withForm } from './multipart-form.ts';

/** The options in which providers with the same files API differ. */
export type FileApiOptions = Pick<FileApi, 'provider' | 'transport' | 'account' | 'storedType'>;

/** Functions that create a files API, by the name of the API. */
export const fileApis: Readonly<
  Record<'openai' | 'anthropic' | 'gemini', (options: FileApiOptions) => FileApi>
> = { openai: openaiFileApi, anthropic: anthropicFileApi, gemini: geminiFileApi };

const megabyte = 2 ** 20;

/** Creates OpenAI's files API. Azure and gateways also offer this API. */
function openaiFileApi(options: FileApiOptions): FileApi {
  return {
    ...options,
    maxBytes: 512 * megabyte,
    upload: (content, context) => {
      const fields = {
        purpose: content.mimeType.startsWith('image/') ? 'vision' : 'user_data',
        'expires_after[anchor]': 'created_at',
        'expires_after[seconds]': String(Math.floor(context.lifetimeMs / 1000)),
      };
      return uploadForm(content, fields, context);
    },
    removal: ({ id }, account) => deletion(account, id),
  };
}

/** Creates Anthropic's files API. */
function anthropicFileApi(options: FileApiOptions): FileApi {
  return {
    ...options,
    maxBytes: 500 * megabyte,
    upload: (content, context) => {
      const seconds = String(Math.floor(context.lifetimeMs / 1000));
      return uploadForm(content, { expires_in_seconds: seconds }, context);
    },
    removal: ({ id }, account) => deletion(account, id),
  };
}

async function uploadForm(
  content: UploadContent,
  fields: Readonly<Record<string, string>>,
  { account, send, clock, lifetimeMs }: UploadContext,
): Promise<StoredFile> {
  const { body } = await send(withForm(account, fields, content));
  const id = textIn(body, 'id');
  if (id === undefined) throw fault('protocol_error', 'the answer to an upload has no id');
  return {
    id,
    expiresAtMs: clock.now() + (lifetimeIn(body, 'created_at', 'expires_at') ?? lifetimeMs),
  };
}

/**
 * Returns the lifetime of a file in milliseconds. It is the difference between two times of the provider's
 * clock, because that clock can differ from the local clock.
 */
function lifetimeIn(file: JsonObject | undefined, start: string, end: string): number | undefined {
  const [from, to] = [timeIn(file, start), timeIn(file, end)];
  return from === undefined || to === undefined ? undefined : to - from;
}

/** Returns a time in milliseconds. The field contains seconds since 1970, or a date. */
function timeIn(file: JsonObject | undefined, field: string): number | undefined {
  const seconds = countIn(file, field);
  if (seconds !== undefined) return seconds * 1000;
  const ms = Date.parse(textIn(file, field) ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function deletion(account: HttpRequest, id: string): HttpRequest {
  return { ...account, method: 'DELETE', url: childUrl(account.url, id) };
}

/**
 * Returns the URL of a file. The id comes from the provider. It is encoded, so that it cannot lead to a
 * different path.
 */
function childUrl(url: string, id: string): string {
  const [place = '', query = ''] = url.split('?');
  return withQuery(`${place}/${encodeURIComponent(id).replace(/^\.+$/, '')}`, query);
}

/**
 * Gemini processes a file after its upload. These are the delay between two status queries, in milliseconds,
 * and the maximum number of queries.
 */
const pollMs = 1000;
const maxPolls = 180;

const geminiLifetimeMs = 48 * 3_600_000;

/**
 * Creates Gemini's files API. It uses a resumable upload in one piece. The client chooses the name of the
 * file. The file can then be deleted even if the answer to its upload is lost.
 */
function geminiFileApi(options: FileApiOptions): FileApi {
  const removal = (name: string, account: HttpRequest) =>
    deletion(account, name.slice(name.lastIndexOf('/') + 1));
  return {
    ...options,
    maxBytes: 2000 * megabyte,
    upload: async (content, context) => {
      const name = `files/${crypto.randomUUID()}`;
      try {
        return await uploadToGemini(content, name, context);
      } catch (error) {
        await context.send(removal(name, context.account)).catch(() => {});
        throw error;
      }
    },
    removal: ({ id }, account) => removal(id, account),
  };
}

async function uploadToGemini(
  { name: displayName, mimeType, bytes }: UploadContent,
  name: string,
  { account, send, clock }: UploadContext,
): Promise<StoredFile> {
  const { headers } = await send({
    ...account,
    url: uploadUrl(account.url),
    headers: {
      ...account.headers,
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(bytes.length),
      'x-goog-upload-header-content-type': mimeType,
    },
    body: { file: { name, displayName: displayName.slice(0, 512).toWellFormed() } },
  });
  const target = headers.get('x-goog-upload-url');
  if (target === null) throw fault('protocol_error', 'the answer has no x-goog-upload-url');
  const uploaded = await send({
    url: target,
    headers: {
      ...(isSameOrigin(target, account.url) ? account.headers : {}),
      'content-type': mimeType,
      'x-goog-upload-command': 'upload, finalize',
      'x-goog-upload-offset': '0',
    },
    body: {},
    content: bytes,
    secrets: account.secrets,
  });
  let file = objectIn(uploaded.body, 'file');
  for (let polls = 0; textIn(file, 'state') === 'PROCESSING' && polls < maxPolls; polls++) {
    await new Promise<void>((resolve) => clock.after(pollMs, resolve));
    const url = childUrl(account.url, name.slice('files/'.length));
    file = (await send({ ...account, method: 'GET', url })).body;
  }
  const [id, state = 'ACTIVE'] = [textIn(file, 'uri'), textIn(file, 'state')];
  if (id === undefined || state !== 'ACTIVE') {
    throw fault('invalid_request', `the file cannot be used, its state is ${state}`);
  }
  const lifetimeMs = lifetimeIn(file, 'createTime', 'expirationTime') ?? geminiLifetimeMs;
  return { id, expiresAtMs: clock.now() + lifetimeMs };
}

/** Returns the URL for uploads. It contains `upload` before the version: `/upload/v1beta/files`. */
function uploadUrl(url: string): string {
  return url.replace(/\/(v\d\w*)?(\/?)files(?=$|\?)/, '/upload/$1$2files');
}

/**
 * Returns whether two URLs have the same origin. The key must not be sent to a different host. At a different
 * host, the URL itself permits the upload.
 */
function isSameOrigin(url: string, other: string): boolean {
  return URL.parse(url)?.origin === URL.parse(other)?.origin;
}
