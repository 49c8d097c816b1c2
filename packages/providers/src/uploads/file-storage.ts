import { isJsonObject, type JsonObject, parseJson } from '@millrace/core';
import { ProviderError } from '../contract/provider-error.ts';
import { ErrorBuilder, readFailure } from '../errors/error-builder.ts';
import { secretsOf } from '../errors/redactor.ts';
import {
  type Attachment,
  attachmentBytes,
  attachmentText,
  isTextType,
  normalizedType,
  readDataUrl,
} from '../history/attachment.ts';
import { HttpExchange, readText } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import type { Transport } from '../transport/transport-options.ts';

/** The files API of one provider. */
export interface FileApi {
  /** The name of the provider in a `provider_file` source. */
  readonly provider: string;
  /** The largest file that the provider stores, in bytes. */
  readonly maxBytes: number;
  readonly transport: Transport;
  /**
   * Returns the URL of the storage, and the headers that contain the key. Throws a `WireFault` if there is no
   * key.
   */
  readonly account: () => HttpRequest;
  /**
   * Returns the media type under which content of this type is stored. Returns undefined if requests cannot
   * refer to files of this type.
   */
  readonly storedType: (mediaType: string) => string | undefined;
  readonly upload: (content: UploadContent, context: UploadContext) => Promise<StoredFile>;
  /** Builds the request that deletes a file. */
  readonly removal: (file: StoredFile, account: HttpRequest) => HttpRequest;
}

/** The content that is uploaded. */
export interface UploadContent {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** The values that an upload needs besides its content. */
export interface UploadContext {
  readonly account: HttpRequest;
  readonly lifetimeMs: number;
  readonly clock: Transport['clock'];
  /** Sends a request to the files API. Throws a `ProviderError`. */
  readonly send: (request: HttpRequest) => Promise<FileAnswer>;
}

/** A file that a provider stores. */
export interface StoredFile {
  /** The id of the file. Requests contain this id. */
  readonly id: string;
  /** The time at which the file expires, according to the transport's clock. */
  readonly expiresAtMs: number;
}

interface FileAnswer {
  readonly body: JsonObject;
  readonly headers: Headers;
}

/**
 * Returns the content of an attachment if it can be uploaded, and otherwise undefined. Content with a
 * provider state is never uploaded.
 */
export function uploadContentOf(part: Attachment, api: FileApi): UploadContent | undefined {
  if (part.partial || part.providerState !== undefined) return undefined;
  const inside = part.source.type === 'url' ? readDataUrl(part.source.url) : undefined;
  const mediaType = normalizedType(inside?.mimeType ?? part.mimeType);
  const mimeType = api.storedType(mediaType);
  if (mimeType === undefined) return undefined;
  const bytes = isTextType(mediaType) ? utf8Of(part) : attachmentBytes(part);
  if (bytes === undefined) return undefined;
  const name = part.kind === 'file' ? part.name.toWellFormed() : `attachment${ending(mimeType)}`;
  return { name: name === '' ? 'attachment' : name, mimeType, bytes };
}

/** Returns a text file in UTF-8, because providers expect UTF-8. The original file can have any charset. */
function utf8Of(part: Attachment): Uint8Array | undefined {
  const text = attachmentText(part);
  return text === undefined ? undefined : new TextEncoder().encode(text);
}

/** Returns the file extension for a media type. Providers determine the type of a file from its extension. */
function ending(mimeType: string): string {
  const [, subtype = ''] = mimeType.split(';', 1)[0]?.split('/') ?? [];
  const known: Readonly<Record<string, string>> = { jpeg: 'jpg', plain: 'txt', quicktime: 'mov' };
  return /^[a-z0-9]+$/.test(subtype) ? `.${known[subtype] ?? subtype}` : '';
}

/** The file storage of one account. */
export interface FileStorage {
  /** Identifies the account. An account cannot read the files of other accounts. */
  readonly accountId: string;
  readonly clock: Transport['clock'];
  readonly upload: (content: UploadContent) => Promise<StoredFile>;
  readonly remove: (file: StoredFile) => Promise<void>;
}

interface StorageOptions {
  readonly lifetimeMs: number;
  readonly uploadTimeoutMs: number;
}

/**
 * Opens the storage of the account that the key belongs to. Throws a `WireFault` if there is no
 * key.
 */
export function openStorage(
  api: FileApi,
  { lifetimeMs, uploadTimeoutMs }: StorageOptions,
): FileStorage {
  const request = api.account();
  // The headers are the same as for a model request, but the answer is not a stream.
  const account = { ...request, headers: { ...request.headers, accept: 'application/json' } };
  const { clock } = api.transport;
  const send = (request: HttpRequest) => sendFileRequest(api, request, uploadTimeoutMs);
  return {
    accountId: JSON.stringify([account.url, account.headers]),
    clock,
    upload: (content) => api.upload(content, { account, lifetimeMs, clock, send }),
    remove: async (file) => {
      try {
        await sendFileRequest(api, api.removal(file, account), removalTimeoutMs);
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
    },
  };
}

const removalTimeoutMs = 30_000;

/** Returns whether an error means that the file does not exist. Gemini uses the status 403 for this. */
function isAbsent(error: unknown): boolean {
  if (!(error instanceof ProviderError)) return false;
  const { status, message } = error;
  return status === 404 || status === 410 || (status === 403 && /not exist/i.test(message));
}

/** Maximum size of an answer of the files API, in bytes. Real answers are short. */
const maxAnswerBytes = 2 ** 20;

/** Sends one request to the files API and reads its answer. Throws a `ProviderError`. */
async function sendFileRequest(
  { provider, transport }: FileApi,
  request: HttpRequest,
  timeoutMs: number,
): Promise<FileAnswer> {
  const errors = new ErrorBuilder(provider, transport.clock);
  errors.redactSecrets(secretsOf(request));
  const timeouts = { ...transport.timeouts, firstByteTimeoutMs: timeoutMs };
  const exchange = new HttpExchange({ ...transport, timeouts, signal: undefined });
  try {
    const response = await exchange.open(request);
    errors.response = response;
    if (!response.ok) throw await readFailure(response, exchange);
    const { text } = await readText(exchange, maxAnswerBytes);
    const parsed = parseJson(text);
    return {
      body: parsed.ok && isJsonObject(parsed.value) ? parsed.value : {},
      headers: response.headers,
    };
  } catch (error) {
    throw errors.build(error, undefined);
  } finally {
    exchange.close();
  }
}
