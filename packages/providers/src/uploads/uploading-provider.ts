import type { Item, Part, ToolResultPart } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamContext, StreamStep } from '../contract/provider.ts';
import type { Attachment } from '../history/attachment.ts';
import { abortOnReturn, withAbortSignal } from '../provider/abort-on-return.ts';
import { providerOf } from '../provider/create-provider.ts';
import { checkRequest } from '../wire/check-request.ts';
import { fileApis } from './file-apis.ts';
import { type FileApi, type FileStorage, openStorage, uploadContentOf } from './file-storage.ts';
import { rejectedFiles } from './rejected-files.ts';
import type { Upload, UploadRegistry } from './upload-registry.ts';
import type { FilePlace } from './with-uploads.ts';

/**
 * Returns a provider that uploads large attachments before it sends a request. The request then contains the
 * ids of the files.
 */
export function uploadingProvider(
  provider: Provider,
  uploads: UploadRegistry,
  { api, ...options }: FilePlace,
): Provider {
  const requests = new UploadedRequests(uploads, fileApis[api](options));
  const uploading = providerOf(provider.id, provider.model, (request, context) =>
    abortOnReturn((returned) =>
      streamWithUploads(provider, requests, request, withAbortSignal(context, returned)),
    ),
  );
  return { ...provider, ...uploading };
}

/**
 * Sends the request again if the provider rejected files: first with new files, and then with their contents.
 * Providers reject such requests immediately, before they stream or bill anything.
 */
async function* streamWithUploads(
  provider: Provider,
  requests: UploadedRequests,
  request: ModelRequest,
  context: StreamContext,
): AsyncGenerator<StreamStep> {
  const lostKeys = new Set<string>();
  for (let repeats = 0; ; repeats++) {
    const sent = await requests.prepare(request, context);
    let isRepeated = false;
    try {
      let hasContent = false;
      for await (const step of provider.stream(sent.request, context)) {
        hasContent ||= step.deltas.length > 0;
        // Each file can be uploaded one more time. After that, it can be replaced by its content.
        const mayRepeat = !hasContent && repeats < 2 * sent.fileCount;
        isRepeated = mayRepeat && sent.learn(step, lostKeys);
        if (isRepeated) break;
        yield withWarnings(step, sent.warnings);
      }
    } finally {
      sent.end();
    }
    if (!isRepeated) return;
  }
}

function withWarnings(step: StreamStep, warnings: readonly string[]): StreamStep {
  if (step.end === undefined || warnings.length === 0) return step;
  return { ...step, end: { ...step.end, warnings: [...(step.end.warnings ?? []), ...warnings] } };
}

/** A request in which file references replace the large attachments. */
interface SentRequest {
  readonly request: ModelRequest;
  /** Messages about contents that could not be sent as files, with the reasons. */
  readonly warnings: readonly string[];
  readonly fileCount: number;
  /**
   * Reads the last step of a response. Returns true if the provider rejected a file and the request can be
   * sent again. `lostKeys` contains the files that were lost before.
   */
  learn(step: StreamStep, lostKeys: Set<string>): boolean;
  /** Must be called when the response has ended. */
  end(): void;
}

class UploadedRequests {
  readonly #registry: UploadRegistry;
  readonly #api: FileApi;

  constructor(registry: UploadRegistry, api: FileApi) {
    this.#registry = registry;
    this.#api = api;
  }

  /**
   * Uploads large attachments and returns the request to send. An abort ends the waiting, but the upload
   * continues for the next request.
   */
  async prepare(request: ModelRequest, context: StreamContext): Promise<SentRequest> {
    const storage = this.#open(request);
    const uploads = new Map<Attachment, Upload>();
    const end = () => {
      for (const upload of uploads.values()) this.#registry.endUse(upload);
    };
    if (storage === undefined) return unchanged(request, end);
    const { signal } = context;
    for (const part of attachmentsIn(request)) {
      if (signal?.aborted || uploads.has(part)) continue;
      const upload = await this.#use(part, storage, context.session);
      if (upload !== undefined) uploads.set(part, upload);
    }
    await orAborted(Promise.all([...uploads.values()].map(({ outcome }) => outcome)), signal);
    if (signal?.aborted) return unchanged(request, end);
    return {
      request: uploads.size === 0 ? request : withFiles(request, uploads, this.#api.provider),
      warnings: warningsOf(uploads),
      fileCount: uploads.size,
      learn: (step, lostKeys) => this.#learn(step, lostKeys, uploads, givenFiles(request)),
      end,
    };
  }

  /**
   * Opens the storage. Returns undefined if the request is invalid or there is no key, because the provider
   * itself reports these problems.
   */
  #open(request: ModelRequest): FileStorage | undefined {
    try {
      checkRequest(request);
      return openStorage(this.#api, this.#registry.settings);
    } catch {
      return undefined;
    }
  }

  async #use(
    part: Attachment,
    storage: FileStorage,
    session: string | undefined,
  ): Promise<Upload | undefined> {
    const { minBytes, maxBytes } = this.#registry.settings;
    const content = uploadContentOf(part, this.#api);
    const length = content?.bytes.length ?? 0;
    if (content === undefined || length < minBytes) return undefined;
    if (length > Math.min(maxBytes, this.#api.maxBytes)) return undefined;
    return this.#registry.use(storage, content, await hashOf(content.bytes), session);
  }

  #learn(
    { end }: StreamStep,
    lostKeys: Set<string>,
    uploads: ReadonlyMap<Attachment, Upload>,
    otherIds: readonly string[],
  ): boolean {
    if (end?.error === undefined || uploads.size === 0) return false;
    const byId = new Map<string, Upload>();
    for (const upload of uploads.values()) {
      const { known } = upload;
      if (known !== undefined && 'file' in known) byId.set(known.file.id, upload);
    }
    const found = rejectedFiles(end.error, [...byId.keys()], otherIds);
    for (const id of found?.ids ?? []) {
      const upload = byId.get(id);
      if (upload === undefined) continue;
      // If a file is missing immediately after its upload, a further upload would not help.
      const isAgain = lostKeys.has(upload.key);
      lostKeys.add(upload.key);
      if (found?.why === 'gone' && !isAgain) this.#registry.markLost(upload);
      else this.#registry.refuse(upload, end.error.message);
    }
    return found !== undefined;
  }
}

function unchanged(request: ModelRequest, end: () => void): SentRequest {
  return { request, warnings: [], fileCount: 0, learn: () => false, end };
}

function* attachmentsIn({ items }: ModelRequest): Generator<Attachment> {
  for (const { parts } of items) {
    for (const part of parts) {
      if (part.kind === 'media' || part.kind === 'file') yield part;
      if (part.kind === 'tool_result') yield* part.attachments ?? [];
    }
  }
}

/** Returns the ids of files that the caller uploaded itself. */
function givenFiles(request: ModelRequest): readonly string[] {
  return [...attachmentsIn(request)].flatMap(({ source }) =>
    source.type === 'provider_file' ? [source.id] : [],
  );
}

/**
 * Returns the request with file references in place of the uploaded contents. All other values stay the same
 * objects.
 */
function withFiles(
  request: ModelRequest,
  uploads: ReadonlyMap<Attachment, Upload>,
  provider: string,
): ModelRequest {
  const storedPart = (part: Part): Part => {
    if (part.kind === 'tool_result') return withAttachments(part, stored);
    return part.kind === 'media' || part.kind === 'file' ? stored(part) : part;
  };
  const stored = (part: Attachment): Attachment => {
    const known = uploads.get(part)?.known;
    if (known === undefined || !('file' in known)) return part;
    return { ...part, source: { type: 'provider_file', provider, id: known.file.id } };
  };
  const items = request.items.map((item): Item => {
    const parts = item.parts.map(storedPart);
    return parts.every((part, index) => part === item.parts[index]) ? item : { ...item, parts };
  });
  return { ...request, items };
}

function withAttachments(
  part: ToolResultPart,
  stored: (one: Attachment) => Attachment,
): ToolResultPart {
  const { attachments = [] } = part;
  const next = attachments.map(stored);
  const isSame = next.every((one, index) => one === attachments[index]);
  return isSame ? part : { ...part, attachments: next };
}

function warningsOf(uploads: ReadonlyMap<Attachment, Upload>): readonly string[] {
  return [...new Set(uploads.values())].flatMap(({ known }) => {
    if (known === undefined || 'file' in known) return [];
    return [`An attachment was not uploaded and is sent with every request: ${known.refusal}`];
  });
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Resolves when the promise resolves, or when the signal aborts. */
function orAborted(promise: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (signal === undefined) return promise;
  return new Promise<unknown>((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
