import type { Provider } from '../contract/provider.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { FileApiOptions } from './file-apis.ts';

/** The files API of a provider, and the options to reach it. */
export interface FilePlace extends FileApiOptions {
  readonly api: 'openai' | 'anthropic' | 'gemini';
}

/** Returns a provider that uploads large attachments before it sends a request. */
type AddUploads = (provider: Provider, place: FilePlace) => Provider;

/**
 * The property of the object that `createUploads` created, with the function that adds uploads. The
 * object brings the code that uploads, so that programs without uploads do not contain it. All
 * copies of this package share the symbol.
 */
const addKey = Symbol.for('millrace.uploads.1');

/** Adds the function to an object, so that it can be used as the option `uploads`. */
export function registerUploads(uploads: Uploads, add: AddUploads): void {
  Object.defineProperty(uploads, addKey, { value: add });
}

/** Returns a provider with uploads. Returns the given provider if `uploads` is undefined. */
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
