import type { UploadOptions, Uploads } from '../contract/uploads.ts';
import { checkCount, checkDuration } from '../transport/check-number.ts';
import { UploadRegistry, type UploadSettings } from './upload-registry.ts';
import { uploadingProvider } from './uploading-provider.ts';
import { registerUploads } from './with-uploads.ts';

const hourMs = 3_600_000;
const minLifetimeMs = hourMs;
const maxLifetimeMs = 30 * 24 * hourMs;

const defaults: UploadSettings = {
  minBytes: 128 * 2 ** 10,
  maxBytes: 256 * 2 ** 20,
  maxFiles: 200,
  maxConcurrentTransfers: 4,
  lifetimeMs: 48 * hourMs,
  uploadTimeoutMs: 600_000,
};

/**
 * Creates the value of the option `uploads` of `openaiResponses`, `openaiChat`, `anthropic` and `gemini`.
 * Large attachments are uploaded once, and requests contain the id of the file. The log still stores the
 * content. If a file no longer exists, its content is uploaded again. If a provider rejects the file, the
 * content is sent inside the request.
 *
 * @example
 * const uploads = createUploads();
 * const provider = anthropic({ model: 'claude-sonnet-4-5', uploads });
 * // … run sessions …
 * await uploads.close();
 */
export function createUploads(options: UploadOptions = {}): Uploads {
  if (globalThis.crypto?.subtle === undefined) {
    throw new TypeError('Cannot create uploads: crypto.subtle is missing; use a page with https');
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(defaults, name)) continue;
    const names = Object.keys(defaults).join(', ');
    throw new TypeError(`Cannot use the option ${name} of createUploads: it has only ${names}`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: UploadSettings = { ...defaults, ...Object.fromEntries(given) };
  for (const name of ['minBytes', 'maxBytes', 'maxFiles', 'maxConcurrentTransfers'] as const) {
    checkCount(name, settings[name]);
  }
  for (const name of ['lifetimeMs', 'uploadTimeoutMs'] as const) {
    checkDuration(name, settings[name]);
  }
  const { lifetimeMs } = settings;
  if (lifetimeMs < minLifetimeMs || lifetimeMs > maxLifetimeMs) {
    throw new RangeError(`Cannot use ${lifetimeMs} as lifetimeMs: use 1 hour to 30 days`);
  }
  const registry = new UploadRegistry(settings);
  registerUploads(registry, (provider, place) => uploadingProvider(provider, registry, place));
  return registry;
}
