import { type FilePart, isJsonObject, type JsonObject, type MediaPart } from '@millrace/core';
import type { ContentOptions } from '../contract/content-options.ts';
import { objectIn } from '../json/fields.ts';
import { mergeFor } from '../wire/provider-options.ts';

/** The key under which the metadata of a part contains the options. */
const key = 'providerOptions';

/**
 * Returns the picture or file with options for some providers, such as the level of detail or whether to cite
 * it. The metadata of the part stores the options. Each provider reads only its own options.
 *
 * @example
 * const map = withContentOptions(picture, { openai: { detail: 'high' } });
 * const report = withContentOptions(file, { anthropic: { citations: { enabled: true } } });
 */
export function withContentOptions<Part extends MediaPart | FilePart>(
  part: Part,
  options: ContentOptions,
): Part {
  return { ...part, metadata: { ...part.metadata, [key]: options as JsonObject } };
}

/** Returns the options of a part for one provider, or undefined if there are none. */
export function contentOptionsFor(
  { metadata }: MediaPart | FilePart,
  provider: string,
): JsonObject | undefined {
  const given = objectIn(metadata, key);
  if (given === undefined) return undefined;
  const byProvider = Object.entries(given).flatMap(([name, options]) =>
    isJsonObject(options) ? [[name, options] as const] : [],
  );
  const own = mergeFor(provider, {}, Object.fromEntries(byProvider), 'content');
  return Object.keys(own).length === 0 ? undefined : own;
}
