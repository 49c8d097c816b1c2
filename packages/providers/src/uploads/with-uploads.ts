import type { Provider } from '../contract/provider.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { FileApiOptions } from './file-apis.ts';

/** The files API of a provider, with the options that are needed to use it. */
export interface FilePlace extends FileApiOptions {
  readonly api: 'openai' | 'anthropic' | 'gemini';
}

/** Returns a provider that uploads large attachments before it sends a request. */
type AddUploads = (provider: Provider, place: FilePlace) => Provider;

/**
 * The property of the `createUploads` object that contains the function which adds uploads. The object
 * carries the upload code, so that programs without uploads do not contain it. All copies of this package use
 * the same symbol.
 */
const addKey = Symbol.for('millrace.uploads.1');

/** Adds the function to an object. The object can then be used as the option `uploads`. */
export function registerUploads(uploads: Uploads, add: AddUploads): void {
  Object.defineProperty(uploads, addKey, { value: add });
}

/** Returns a provider with uploads. If `uploads` is undefined, returns the given provider unchanged. */
export function withUploads(
  provider: Provider,
  uploads: Uploads | undefined,
  place: () => FilePlace,
): Provider {
  if (uploads === undefined) return provider;
  const { [addKey]: add } = uploads as { readonly [addKey]?: AddUploads };
  if (add === undefined) {
    throw new TypeError('Cannot use the option uploads: pass the result of createUploads()');
  }
  return add(provider, place());
}
